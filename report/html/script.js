'use strict';
(() => {
  const byId = id => document.getElementById(id);

  // What a large page keeps compressed is put in the place of its script element, once.
  const unpack = async packed => {
    const bytes = Uint8Array.from(atob(packed.textContent), c => c.charCodeAt(0));
    const html = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
    packed.insertAdjacentHTML('beforebegin', html);
    packed.remove();
  };
  const unpacking = new Map();
  const whole = element => Promise.all([...element.querySelectorAll('script[type="application/gzip"]')].map(packed => {
    if (!unpacking.has(packed)) unpacking.set(packed, unpack(packed));
    return unpacking.get(packed);
  })).catch(() => {
    const note = document.createElement('p');
    note.className = 'note';
    note.textContent = 'This browser cannot open what this page keeps compressed: it is too old.';
    element.closest('section').append(note);
  });
  // What is there already is not waited for.
  const then = (element, act) => element.querySelector('script[type="application/gzip"]') ? whole(element).then(act) : act();
  for (const d of document.querySelectorAll('details')) {
    const opened = () => d.open && whole(d);
    d.addEventListener('toggle', opened);
    opened();
  }

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
    const body = table.tBodies[0];
    let original;
    const heads = [...table.tHead.rows[0].cells];
    const sort = (th, i) => {
      original ??= [...body.rows];
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
    };
    heads.forEach((th, i) => {
      if ('fixed' in th.dataset) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener('click', () => then(table, () => sort(th, i)));
    });
  }

  // Filtering the comparisons.
  const form = byId('filter'), table = byId('level-table'), all = byId('all');
  if (form && table) {
    const heads = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
    const column = name => heads.indexOf(name);
    const known = new Map();
    const facts = row => {
      if (!known.has(row)) known.set(row, {
        step: row.querySelector('th').firstChild.textContent.toLowerCase(),
        candidate: column('candidate') < 0 ? '' : row.cells[column('candidate')].textContent,
        group: row.cells[column('group')].textContent,
        verdict: row.cells[column('verdict')].lastChild.textContent.trim(),
      });
      return known.get(row);
    };
    const value = id => byId(id)?.value ?? '';
    // Thousands of rows take seconds to lay out, so only the first are, until all are asked for.
    const many = 1000, first = 300, total = Number(table.dataset.total);
    let limit = total > many ? first : Infinity;
    let linked; // a row that a link leads to is shown whatever the limit
    const apply = () => {
      const find = value('find').toLowerCase(), rows = table.tBodies[0].rows;
      let matching = total - rows.length, shown = 0; // those that are not there yet
      for (const row of rows) {
        const f = facts(row);
        const keep = f.step.includes(find)
          && ['candidate', 'group'].every(k => !value('by-' + k) || value('by-' + k) === f[k])
          && (!value('by-verdict') || f.verdict.split(', ').includes(value('by-verdict'))); // regressed, red
        if (keep) matching++;
        row.hidden = (!keep || shown >= limit) && row !== linked;
        if (!row.hidden) shown++;
      }
      all.hidden = matching <= limit;
      // Paper repeats of a large page's comparisons only those that were asked for.
      byId('levels').classList.toggle('asked', limit === Infinity || ['find', 'by-candidate', 'by-group', 'by-verdict'].some(value));
      byId('shown').textContent = `${shown} of ${total} shown`;
    };
    const filtered = () => {
      linked = undefined;
      then(table, apply);
    };
    all.addEventListener('click', () => {
      limit = Infinity;
      filtered();
    });
    table.addEventListener('sorted', apply);
    form.hidden = false;
    form.addEventListener('input', filtered);
    form.addEventListener('submit', e => e.preventDefault());
    apply();
    // A link to a row that is filtered away, or not there yet, shows it.
    const leads = hash => /^#c\d+$/.test(hash) && (byId(hash.slice(1))?.hidden ?? true);
    const lead = hash => then(table, () => {
      linked = byId(hash.slice(1));
      if (!linked) return;
      form.reset();
      apply();
      const a = document.createElement('a');
      a.href = hash;
      a.click();
    });
    document.addEventListener('click', e => {
      const hash = e.target.closest?.('a[href^="#"]')?.hash ?? '';
      if (!leads(hash)) return;
      e.preventDefault();
      lead(hash);
    });
    if (leads(location.hash)) lead(location.hash);
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

  // Paper shows everything, but of a large page what was opened; it says what it leaves out.
  const large = document.body.classList.contains('large');
  let closed = [];
  addEventListener('beforeprint', () => {
    if (large) return;
    closed = [...document.querySelectorAll('details:not([open])')];
    closed.forEach(d => { d.open = true; });
  });
  addEventListener('afterprint', () => closed.splice(0).forEach(d => { d.open = false; }));
  const everything = byId('print');
  if (everything) {
    everything.hidden = false;
    everything.addEventListener('click', async () => {
      await Promise.all([...document.querySelectorAll('section')].map(whole));
      document.querySelectorAll('details').forEach(d => { d.open = true; });
      if (all && !all.hidden) all.click();
      requestAnimationFrame(() => print());
    });
  }
})();
