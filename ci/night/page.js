// page.js: tables of a report page sort by a click on a heading and filter by words and by columns.
"use strict";
(() => {
	const valueOf = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
	const make = (name, parent, props) => parent.appendChild(Object.assign(document.createElement(name), props));

	// What is no number stands last, whichever way numbers are sorted.
	function compare(a, b, numeric, sign) {
		if (numeric) {
			const x = a === "" ? NaN : Number(a), y = b === "" ? NaN : Number(b);
			if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
			return sign * (x - y);
		}
		return sign * a.localeCompare(b, "en", { numeric: true });
	}

	function sortBy(table, rows, i, head) {
		const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
		const keyed = rows.map(row => [valueOf(row, i), row]);
		const numeric = head.dataset.kind === "n" || keyed.every(([v]) => v !== "" && !isNaN(v));
		keyed.sort(([a], [b]) => compare(a, b, numeric, sign));
		table.tBodies[0].append(...keyed.map(([, row]) => row));
		for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
		head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
	}

	function equip(table) {
		const rows = [...table.tBodies[0].rows];
		const heads = [...table.tHead.rows[0].cells];
		const line = document.createElement("div");
		line.className = "tools-line";
		const words = make("input", line, { type: "search", placeholder: "filter: words", ariaLabel: "filter rows by words" });
		const choices = [];
		const texts = rows.map(row => row.textContent.toLowerCase());
		const count = document.createElement("span");
		count.setAttribute("role", "status");

		function filter() {
			const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
			let shown = 0;
			rows.forEach((row, k) => {
				const fits = asked.every(word => texts[k].includes(word)) &&
					choices.every(([i, choice]) => !choice.value || row.cells[i].textContent === choice.value);
				row.hidden = !fits;
				shown += fits;
			});
			count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
		}

		heads.forEach((head, i) => {
			const text = head.textContent;
			head.textContent = "";
			head.setAttribute("aria-sort", "none");
			make("button", head, { type: "button", textContent: text }).addEventListener("click", () => sortBy(table, rows, i, head));
			if (head.dataset.kind !== "c") return;
			const values = [...new Set(rows.map(row => row.cells[i].textContent))].sort();
			if (values.length < 2 || values.length > 40) return;
			const choice = make("select", line, { ariaLabel: text });
			make("option", choice, { value: "", textContent: `${text}: all` });
			for (const value of values) make("option", choice, { value, textContent: value || "(empty)" });
			choice.addEventListener("change", filter);
			choices.push([i, choice]);
		});
		words.addEventListener("input", filter);
		line.append(count);
		if (rows.length > 5) table.parentElement.before(line);
		filter();
	}

	document.querySelectorAll("table.tools").forEach(equip);
	// Printed, all that is folded shows.
	addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
})();
