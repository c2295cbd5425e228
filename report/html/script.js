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
      });
    });
  }

  // Filtering the comparisons.
  const form = byId('filter'), table = byId('level-table');
  if (form && table) {
    const heads = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
    const column = name => heads.indexOf(name);
    const rows = [...table.tBodies[0].rows].map(row => ({
      row,
      step: row.querySelector('th').firstChild.textContent.toLowerCase(),
      candidate: column('candidate') < 0 ? '' : row.cells[column('candidate')].textContent,
      group: row.cells[column('group')].textContent,
      verdict: row.cells[column('verdict')].lastChild.textContent.trim(),
    }));
    const value = id => byId(id)?.value ?? '';
    const apply = () => {
      const find = value('find').toLowerCase();
      let shown = 0;
      for (const r of rows) {
        const keep = r.step.includes(find)
          && ['candidate', 'group', 'verdict'].every(k => !value('by-' + k) || value('by-' + k) === r[k]);
        r.row.hidden = !keep;
        if (keep) shown++;
      }
      byId('shown').textContent = `${shown} of ${rows.length} shown`;
    };
    form.hidden = false;
    form.addEventListener('input', apply);
    form.addEventListener('submit', e => e.preventDefault());
    apply();
    // A link to a row that is filtered away shows all rows again.
    document.addEventListener('click', e => {
      const target = byId(e.target.closest?.('a[href^="#"]')?.hash.slice(1) ?? '');
      if (target?.hidden) {
        form.reset();
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
