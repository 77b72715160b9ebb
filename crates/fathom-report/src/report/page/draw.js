// Draws each figure from its definition as soon as it has a width, and answers to mouse, keys and buttons.
const figures = JSON.parse(document.getElementById('figures').textContent);

function redraw(chart) {
  const state = chart.state, label = chart.querySelector('.hover');
  const { svg, hits, frame: area } = picture(state, chart.clientWidth, state.least);
  chart.replaceChildren(svg, label);
  label.hidden = true;
  Object.assign(state, { svg, hits, area });
  for (const item of svg.querySelectorAll('.legend')) {
    item.addEventListener('click', () => {
      const name = item.dataset.name;
      if (!state.hidden.delete(name)) state.hidden.add(name);
      redraw(chart);
    });
  }
}

function zoomTo(state, name, low, high) {
  if (high > low && (!state[name] || low > 0)) state.range[name] = [low, high];
}
function reset(chart) {
  const state = chart.state;
  for (const name of ['x', 'y']) state.range[name] = frame(state, name);
  redraw(chart);
}
// What stands at a share of the frame.
function valueAt(state, name, share) {
  const [low, high] = state.range[name].map(value => state[name] ? Math.log(value) : value);
  const value = low + share * (high - low);
  return state[name] ? Math.exp(value) : value;
}
// By a factor around the middle, or along by a part of the frame.
function move(chart, name, factor, shift) {
  const state = chart.state, from = 0.5 + shift - factor / 2;
  zoomTo(state, name, valueAt(state, name, from), valueAt(state, name, from + factor));
  redraw(chart);
}
function switched(chart, name, button) {
  const state = chart.state;
  state[name] = !state[name];
  button.setAttribute('aria-pressed', state[name]);
  state.range[name] = frame(state, name);
  redraw(chart);
}

// The text of the nearest point, line or bar.
function pointed(chart, x, y) {
  const { hits, area } = chart.state, label = chart.querySelector('.hover');
  const isInside = x >= area.left && x <= area.right && y >= area.top && y <= area.bottom;
  const away = ({ place: [x1, y1, x2, y2], behind }) => behind + Math.hypot(Math.max(x1 - x, 0, x - x2), Math.max(y1 - y, 0, y - y2));
  let nearest = null, least = 20;
  for (const hit of isInside ? hits : []) {
    const distance = away(hit);
    if (distance < least) [nearest, least] = [hit, distance];
  }
  label.hidden = !nearest;
  if (!nearest) return;
  label.textContent = [nearest.name, ...nearest.says()].join('\n');
  label.style.left = Math.max(0, Math.min(x + 14, chart.clientWidth - label.offsetWidth)) + 'px';
  label.style.top = Math.max(0, y - label.offsetHeight - 10) + 'px';
}

// What the mouse draws a box around fills the frame; a narrow box leaves the other axis as it is.
function dragged(chart, start) {
  const state = chart.state, { left, right, top, bottom } = state.area;
  if (start.x < left || start.x > right || start.y < top || start.y > bottom) return;
  const box = add(state.svg, 'rect', { fill: 'var(--accent)', 'fill-opacity': 0.15, stroke: 'var(--accent)' });
  const span = (from, to, low, high) => [Math.min(from, to), Math.max(from, to)].map(one => Math.min(high, Math.max(low, one)));
  let spans;
  const drawn = ({ x, y }) => {
    spans = [span(start.x, x, left, right), span(start.y, y, top, bottom)];
    if (spans[0][1] - spans[0][0] < 10) spans[0] = [left, right];
    if (spans[1][1] - spans[1][0] < 10) spans[1] = [top, bottom];
    const [[x1, x2], [y1, y2]] = spans;
    for (const [name, value] of Object.entries({ x: x1, y: y1, width: x2 - x1, height: y2 - y1 })) box.setAttribute(name, value);
  };
  const ended = () => {
    box.remove();
    chart.onlostpointercapture = chart.dragging = null;
    if (!spans) return;
    const [xs, ys] = [spans[0].map(x => (x - left) / (right - left)), spans[1].map(y => (bottom - y) / (bottom - top))];
    const [x, y] = [xs.map(share => valueAt(state, 'x', share)), [...ys].reverse().map(share => valueAt(state, 'y', share))];
    if (xs[1] - xs[0] < 1) zoomTo(state, 'x', ...x);
    if (ys[0] - ys[1] < 1) zoomTo(state, 'y', ...y);
    redraw(chart);
  };
  chart.dragging = drawn;
  chart.onlostpointercapture = ended;
}

function save(chart, format) {
  const { svg } = picture(chart.state, 1000, 520);
  saved(svg, format, chart.state.figure.id);
}
// A picture as a file of its own, where the page's colours are not known.
function saved(svg, format, name) {
  const text = new XMLSerializer().serializeToString(svg).replace(/var\((--[\w-]+)\)/g,
    (_, one) => getComputedStyle(document.documentElement).getPropertyValue(one).trim());
  const address = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  const handOut = href => {
    const link = document.createElement('a');
    [link.href, link.download] = [href, `fathom-${name}.${format}`];
    link.click();
    URL.revokeObjectURL(address);
  };
  if (format === 'svg') return handOut(address);
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    handOut(canvas.toDataURL());
  };
  image.src = address;
}

const acts = {
  'log-x': (chart, button) => switched(chart, 'x', button), 'log-y': (chart, button) => switched(chart, 'y', button),
  in: chart => move(chart, 'x', 0.5, 0), out: chart => move(chart, 'x', 2, 0), reset, svg: chart => save(chart, 'svg'), png: chart => save(chart, 'png'),
};
const keys = {
  '+': acts.in, '=': acts.in, '-': acts.out, '0': reset,
  ArrowLeft: chart => move(chart, 'x', 1, -0.2), ArrowRight: chart => move(chart, 'x', 1, 0.2),
  ArrowUp: chart => move(chart, 'y', 1, 0.2), ArrowDown: chart => move(chart, 'y', 1, -0.2),
};

// The numbers as a table, for readers who can't see the chart or want to copy them.
function numbers(figure) {
  const place = figure.querySelector('.numbers div');
  if (place.childElementCount) return;
  const definition = figures[figure.dataset.figure];
  const [fx, fy] = [wording(definition.x), wording(definition.y)];
  const fe = isOfThings(definition) ? fx : fy;
  const table = document.createElement('table');
  const line = (cells, tag) => {
    const row = table.insertRow();
    for (const cell of cells) row.appendChild(document.createElement(tag)).textContent = cell;
  };
  line(['', definition.x.label, definition.y.label, 'from', 'to'], 'th');
  for (const mark of definition.marks) {
    const at = [].concat(mark.x || []).map(fx).slice(0, 40).join(', '), level = [].concat(mark.y || []).map(fy).slice(0, 40).join(', ');
    line([mark.name, at, level, '', ''], 'td');
  }
  for (const series of definition.series) {
    series.x.slice(0, 2000).forEach((x, at) => line([series.name, fx(x), fy(series.y[at]),
      series.low ? fe(series.low[at]) : '', series.high ? fe(series.high[at]) : ''], 'td'));
  }
  place.className = 'wide';
  place.appendChild(table);
}

const widths = new ResizeObserver(entries => {
  for (const { target } of entries) if (target.clientWidth && target.clientWidth !== +target.state.svg?.getAttribute('width')) redraw(target);
});
for (const figure of document.querySelectorAll('figure[data-figure]')) {
  const chart = figure.querySelector('.chart'), key = figure.dataset.figure, definition = figures[key];
  const state = { figure: definition, key, x: definition.x.log, y: definition.y.log, range: {}, hidden: new Set(), least: chart.clientHeight };
  for (const name of ['x', 'y']) state.range[name] = frame(state, name);
  chart.state = state;
  chart.appendChild(document.createElement('div')).className = 'hover';
  widths.observe(chart);
  figure.querySelector('.buttons').addEventListener('click', event => acts[event.target.dataset.act]?.(chart, event.target));
  chart.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key](chart);
  });
  const within = event => {
    const { left, top } = chart.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  chart.addEventListener('pointermove', event => {
    const at = within(event);
    if (chart.dragging) chart.dragging(at);
    else pointed(chart, at.x, at.y);
  });
  chart.addEventListener('pointerleave', () => { chart.querySelector('.hover').hidden = true; });
  chart.addEventListener('pointerdown', event => {
    if (event.pointerType === 'touch' || event.button || event.target.closest('.legend')) return;
    chart.setPointerCapture(event.pointerId);
    dragged(chart, within(event));
  });
  chart.addEventListener('dblclick', () => reset(chart));
  figure.querySelector('.numbers').addEventListener('toggle', () => numbers(figure));
}

// Nets are drawings already; they are made larger, smaller, and saved.
for (const figure of document.querySelectorAll('figure.drawing')) {
  const svg = figure.querySelector('svg');
  const by = factor => {
    svg.style.width = svg.getBoundingClientRect().width * factor + 'px';
    svg.style.maxWidth = 'none';
  };
  const doings = {
    wider: () => by(1.4), narrower: () => by(1 / 1.4), natural: () => svg.removeAttribute('style'), save: () => saved(svg, 'svg', figure.id),
  };
  figure.querySelector('.buttons').addEventListener('click', event => doings[event.target.dataset.act]?.());
}
