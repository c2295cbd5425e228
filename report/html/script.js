'use strict';
(() => {
  const byId = id => document.getElementById(id);

  // Sorting: ascending, descending, then the run's own order again.
  const key = (row, i) => {
    const cell = row.cells[i];
    const v = cell.dataset.v ?? cell.textContent.trim().replace(/[\u202f\u2212]/g, c => c === '\u2212' ? '-' : '');
    if (v === '' || v === '–') return null;
    const n = Number(v);
    return Number.isNaN(n) ? v : n;
  };
  const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
  for (const table of document.querySelectorAll('table.sortable')) {
    const body = table.tBodies[0], original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((th, i) => {
      if ('fixed' in th.dataset) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener('click', () => {
        const way = {ascending: 'descending', descending: ''}[th.getAttribute('aria-sort')] ?? 'ascending';
        heads.forEach(h => h.removeAttribute('aria-sort'));
        let rows = original;
        if (way) {
          th.setAttribute('aria-sort', way);
          const sign = way === 'ascending' ? 1 : -1;
          const keyed = original.map(row => [key(row, i), row]);
          // What has no value stays at the end either way.
          keyed.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b));
          rows = keyed.map(pair => pair[1]);
        }
        body.append(...rows);
        table.dispatchEvent(new Event('sorted'));
      });
    });
  }

  // Filtering the comparisons.
  const form = byId('filter'), table = byId('level-table');
  if (form && table) {
    const heads = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
    const column = name => heads.indexOf(name);
    const facts = new Map([...table.tBodies[0].rows].map(row => [row, {
      step: row.querySelector('th').firstChild.textContent.toLowerCase(),
      candidate: column('candidate') < 0 ? '' : row.cells[column('candidate')].textContent,
      group: row.cells[column('group')].textContent,
      verdict: row.cells[column('verdict')].lastChild.textContent.trim(),
    }]));
    const value = id => byId(id)?.value ?? '';
    // Thousands of rows take seconds to lay out, so only the first are, until all are asked for.
    const many = 1000, first = 300;
    let limit = facts.size > many ? first : Infinity;
    const all = byId('all');
    all.addEventListener('click', () => {
      limit = Infinity;
      apply();
    });
    const apply = () => {
      const find = value('find').toLowerCase();
      let matching = 0;
      for (const row of table.tBodies[0].rows) {
        const f = facts.get(row);
        const keep = f.step.includes(find)
          && ['candidate', 'group'].every(k => !value('by-' + k) || value('by-' + k) === f[k])
          && (!value('by-verdict') || f.verdict.split(', ').includes(value('by-verdict'))); // regressed, red
        if (keep) matching++;
        row.hidden = !keep || matching > limit;
      }
      all.hidden = matching <= limit;
      byId('shown').textContent = `${Math.min(matching, limit)} of ${facts.size} shown`;
    };
    table.addEventListener('sorted', apply);
    form.hidden = false;
    form.addEventListener('input', apply);
    form.addEventListener('submit', e => e.preventDefault());
    apply();
    // A link to a row that is filtered away shows all rows again.
    document.addEventListener('click', e => {
      const target = byId(e.target.closest?.('a[href^="#"]')?.hash.slice(1) ?? '');
      if (target?.hidden) {
        form.reset();
        limit = Infinity;
        apply();
      }
    });
  }

  // Saving the figures.
  const save = byId('save'), figures = byId('figures');
  if (save && figures) {
    save.hidden = false;
    save.addEventListener('click', () => {
      const a = document.createElement('a');
      a.download = save.dataset.name;
      a.href = URL.createObjectURL(new Blob([figures.textContent], {type: 'application/json'}));
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 10000);
    });
  }

  // Paper shows everything.
  addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => { d.open = true; }));
})();
