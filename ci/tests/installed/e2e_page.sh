#!/bin/bash
# e2e_page.sh: a report page in headless Chromium: quiet console, every picture, sorting, filtering, no hostile name
# alive, light, dark, phone and print; SHOTS=FOLDER keeps the screenshots.
# timeout: 500
# alone: it installs packages, and measures how fast a page loads
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "$0")/packages.sh"
install chromium chromium-driver python3-selenium

limit=300
run /usr/bin/python3 ci/tests/installed/page_in_chromium.py ${SHOTS:+"$SHOTS"}
tail -n 40 "$work/err"
expect_rc 0
finish
