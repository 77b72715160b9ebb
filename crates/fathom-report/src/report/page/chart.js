// A figure as SVG. Colours are the page's CSS variables, so that a change of scheme, or paper, needs no drawing.
const dashes = ['', '9 4', '2 3', '8 3 2 3', '15 5', '15 4 3 4'];
const markDash = { timing: '9 4', witness: '2 3', declared: '15 4 3 4', reference: '' };
const turned = (points, by) => points.map(([x, y]) => [x * Math.cos(by) - y * Math.sin(by), x * Math.sin(by) + y * Math.cos(by)]);
const starred = Array.from({ length: 10 }, (_, at) => [Math.sin(at * Math.PI / 5), -Math.cos(at * Math.PI / 5)].map(one => at % 2 ? one * 0.45 : one * 1.2));
const plus = [[-1, -0.35], [-0.35, -0.35], [-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35], [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35]];
// Outlines of markers: circle, square, diamond, triangle, cross, x, star.
const outlines = [
  Array.from({ length: 12 }, (_, at) => [Math.cos(at * Math.PI / 6), Math.sin(at * Math.PI / 6)]),
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]], [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  [[0, -1.1], [1.1, 0.9], [-1.1, 0.9]], plus, turned(plus, Math.PI / 4), starred];
// What bars are hatched with: lines within a tile of 8 by 8.
const hatches = ['', 'M0 8L8 0', 'M0 0L8 8M0 8L8 0', 'M3 4h2', 'M0 4h8', 'M4 0v8', 'M4 0v8M0 4h8'];

function add(parent, tag, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  if (text !== undefined) made.textContent = text;
  return parent ? parent.appendChild(made) : made;
}

const ruler = document.createElement('canvas').getContext('2d');
ruler.font = '12px system-ui, sans-serif';
const widest = words => Math.max(0, ...words.map(word => ruler.measureText(word).width));
const fixed = value => value.toFixed(1);

// From a number of an axis to its place between two edges; what a logarithm lacks lies far outside.
function scaled(state, name, from, to) {
  const of = state[name] ? value => Math.log(Math.max(value, 1e-12)) : value => value;
  const [low, high] = state.range[name].map(of);
  return value => value === null ? NaN : from + (of(value) - low) / (high - low) * (to - from);
}

function joined(xs, ys, isStepped) {
  let path = '', isDown = false;
  xs.forEach((x, at) => {
    const isThere = isFinite(x) && isFinite(ys[at]);
    const [px, py] = isThere ? [fixed(x), fixed(ys[at])] : [];
    if (isThere) path += !isDown ? `M${px} ${py}` : isStepped ? `H${px}V${py}` : `L${px} ${py}`;
    isDown = isThere;
  });
  return path;
}

// One path for all markers of a series: thousands of them are one element.
function markers(xs, ys, outline, size) {
  const moved = outline.map(([x, y], at) => [x - (at ? outline[at - 1][0] : 0), y - (at ? outline[at - 1][1] : 0)].map(one => fixed(one * size / 2)));
  const around = 'm' + moved.map(one => one.join(' ')).join('l') + 'z';
  return xs.map((x, at) => isFinite(x) && isFinite(ys[at]) ? `M${fixed(x)} ${fixed(ys[at])}${around}` : '').join('');
}

// How each series looks, apart from where it lies.
function looks(figure) {
  const bars = figure.series.filter(one => one.style === 'bars').length, count = figure.series.length;
  const along = isOfThings(figure) || figure.x.names;
  let lines = 0, bar = 0;
  return figure.series.map(series => {
    const { style } = series, isDots = style === 'dots', place = isDots ? 6 : lines++;
    return {
      series, name: series.name, colour: `var(--c${place % 7})`, place, isDots, isBars: style === 'bars',
      dash: dashes[place % 6], size: isDots || style === 'specks' ? 4 : 7, outline: outlines[place % 7],
      hasLine: !along && ['line', 'points', 'steps'].includes(style),
      hasMarkers: style !== 'bars' && (along || !['line', 'steps'].includes(style)),
      // Several readings of a thing stand next to each other.
      shift: !along ? 0 : style === 'bars' ? (bar++ - (bars - 1) / 2) * 0.8 / bars : (place - (count - 1) / 2) * 0.7 / count,
      thickness: 0.8 / bars,
    };
  });
}

// Lines of one origin have dashes of their own, the first that of the origin.
function markLooks(figure) {
  const seen = {};
  return figure.marks.map(mark => {
    const isBand = ['between', 'levels'].includes(mark.shape);
    const before = isBand ? 0 : seen[mark.origin] = (seen[mark.origin] ?? -1) + 1;
    const own = markDash[mark.origin], all = [own, ...dashes.filter(dash => dash !== own)];
    return { mark, name: mark.name, colour: `var(--${mark.origin})`, dash: all[before % 6], isBand, hasLine: !isBand };
  });
}

// A series without the places that no line or marker within the frame needs: a saved picture holds what it shows.
function cropped(series, px, { left, right }) {
  const xs = series.x.map(px), reaches = at => Math.max(xs[at], xs[at + 1]) >= left - 9 && Math.min(xs[at], xs[at + 1]) <= right + 9;
  const isNear = (_, at) => xs[at] >= left - 9 && xs[at] <= right + 9 || reaches(at - 1) || reaches(at);
  return { ...series, ...Object.fromEntries(['x', 'y', 'low', 'high'].map(name => [name, series[name] && series[name].filter(isNear)])) };
}

// What stands where within the picture.
function drawSeries(group, look, { figure, px, py, frame, key }, hits) {
  const { colour, shift } = look, ofThings = isOfThings(figure), of = ofThings ? px : py;
  const series = ofThings || figure.x.names || look.isBars ? look.series : cropped(look.series, px, frame);
  const xs = series.x.map(x => px(figure.x.names ? x + shift : x));
  const ys = series.y.map(y => py(ofThings ? -y - shift : y));
  const [low, high] = [series.low, series.high].map(edges => edges && edges.map(of));
  if (low && series.style === 'line') {
    const path = joined([...xs, ...[...xs].reverse()], [...low, ...[...high].reverse()]);
    add(group, 'path', { d: path + 'z', fill: colour, 'fill-opacity': 0.25 });
  }
  const half = look.isBars ? look.thickness / 2 : 0, zero = of(ofThings ? Math.max(0, frame.lowX) : Math.max(0, frame.lowY));
  const halved = ofThings ? Math.abs(py(half) - py(0)) : Math.abs(px(half) - px(0));
  const rectangles = xs.map((x, at) => !look.isBars ? [x, ys[at], x, ys[at]]
    : ofThings ? [Math.min(zero, x), ys[at] - halved, Math.max(zero, x), ys[at] + halved]
      : [x - halved, Math.min(zero, ys[at]), x + halved, Math.max(zero, ys[at])]);
  if (look.isBars) {
    const d = rectangles.map(([x, y, x2, y2]) => `M${fixed(x)} ${fixed(y)}H${fixed(x2)}V${fixed(y2)}H${fixed(x)}z`).join('');
    const tile = add(group, 'pattern', { id: `hatch-${key}-${look.place}`, width: 8, height: 8, patternUnits: 'userSpaceOnUse' });
    add(tile, 'path', { d: hatches[look.place % 7], stroke: 'var(--panel)', 'stroke-width': 1.5 });
    add(group, 'path', { d, fill: colour });
    add(group, 'path', { d, fill: `url(#hatch-${key}-${look.place})` });
  }
  if (look.hasLine) {
    add(group, 'path', { d: joined(xs, ys, series.style === 'steps'), fill: 'none', stroke: colour, 'stroke-width': 1.6, 'stroke-dasharray': look.dash });
  }
  if (low && ['points', 'bars', 'estimates'].includes(series.style)) {
    const d = xs.map((x, at) => ofThings ? `M${fixed(low[at])} ${fixed(ys[at])}H${fixed(high[at])}m0-3v6M${fixed(low[at])} ${fixed(ys[at] - 3)}v6`
      : `M${fixed(x)} ${fixed(low[at])}V${fixed(high[at])}m-3 0h6M${fixed(x - 3)} ${fixed(low[at])}h6`).filter(one => !one.includes('NaN'));
    add(group, 'path', { d: d.join(''), fill: 'none', stroke: look.isBars ? 'var(--ink)' : colour, 'stroke-width': 1.2 });
  }
  if (look.isDots) {
    const d = xs.map((x, at) => isFinite(x + ys[at]) ? `M${fixed(x - 2)} ${fixed(ys[at] - 2)}l4 4m0-4l-4 4` : '').join('');
    add(group, 'path', { d, fill: 'none', stroke: colour, 'stroke-opacity': 0.6 });
  } else if (look.hasMarkers || series.style === 'points') {
    add(group, 'path', { d: markers(xs, ys, look.outline, look.size), fill: colour });
  }
  const [fx, fy] = [wording(figure.x), wording(figure.y)], fe = ofThings ? fx : fy;
  rectangles.forEach((place, at) => hits.push({ place, name: look.name, behind: 0, says: () => [fx(series.x[at]), fy(series.y[at]),
    ...low ? [`${fe(series.low[at])} to ${fe(series.high[at])}`] : []] }));
}

// Marks reach across the frame wherever it is.
function drawMark(group, { mark, colour, dash, name }, { figure, px, py, frame: { left, right, top, bottom } }, hits) {
  const [fx, fy] = [wording(figure.x), wording(figure.y)];
  const line = d => add(group, 'path', { d, fill: 'none', stroke: colour, 'stroke-width': 1.3, 'stroke-dasharray': dash });
  const band = (x, y, width, height) => add(group, 'rect', { x, y, width, height, fill: colour, 'fill-opacity': 0.2 });
  // A point near a line is the one that is meant.
  const hit = (place, ...words) => hits.push({ place, name, behind: 6, says: () => words });
  if (mark.shape === 'at') {
    // Dashes beyond the frame, and several of one pixel, would cost a stall and not be seen.
    const seen = new Map(mark.x.filter(x => px(x) >= left && px(x) <= right).map(x => [Math.round(px(x)), x]));
    line([...seen.values()].map(x => `M${fixed(px(x))} ${bottom}V${top}`).join(''));
    seen.forEach(x => hit([px(x), top, px(x), bottom], fx(x)));
  } else if (mark.shape === 'between') {
    band(px(mark.x[0]), top, px(mark.x[1]) - px(mark.x[0]), bottom - top);
  } else if (mark.shape === 'level') {
    line(`M${left} ${fixed(py(mark.y))}H${right}`);
    hit([left, py(mark.y), right, py(mark.y)], fy(mark.y));
  } else if (mark.shape === 'levels') {
    band(left, py(mark.y[1]), right - left, py(mark.y[0]) - py(mark.y[1]));
  } else {
    const [xs, ys] = [mark.x.map(px), mark.y.map(py)];
    line(joined(xs, ys));
    xs.forEach((x, at) => hit([x, ys[at], x, ys[at]], fx(mark.x[at]), fy(mark.y[at])));
  }
}

// Names in rows above the frame; gives how high they are.
function drawLegend(svg, all, hidden, width) {
  let x = 8, y = 12;
  for (const look of all) {
    const name = shortened(look.name, Math.floor((width - 60) / 6.5)), needs = 44 + widest([name]);
    if (x > 8 && x + needs > width) [x, y] = [8, y + 18];
    const item = add(svg, 'g', { class: 'legend', 'data-name': look.name, opacity: hidden.has(look.name) ? 0.4 : 1, transform: `translate(${fixed(x)} ${y})` });
    add(item, 'rect', { x: 0, y: -9, width: needs - 8, height: 18, fill: 'transparent' });
    if (look.isBand || look.isBars) add(item, 'rect', { y: -5, width: 24, height: 10, fill: look.colour, 'fill-opacity': look.isBand ? 0.3 : 1 });
    if (look.hasLine) add(item, 'path', { d: 'M0 0H24', stroke: look.colour, 'stroke-width': 1.6, 'stroke-dasharray': look.dash });
    if (look.isDots) add(item, 'path', { d: 'M10-2l4 4m0-4l-4 4', stroke: look.colour });
    else if (look.hasMarkers || look.series?.style === 'points') add(item, 'path', { d: markers([12], [0], look.outline, look.size), fill: look.colour });
    add(item, 'text', { x: 30, y: 4 }, name);
    x += needs;
  }
  return y + 14;
}

function drawAxes(svg, state, frame, ticksOf, px, py) {
  const { left, right, top, bottom } = frame, { x, y } = state.figure;
  const grid = [...ticksOf.x.map(([at]) => `M${fixed(px(at))} ${bottom}V${top}`), ...ticksOf.y.map(([at]) => `M${left} ${fixed(py(at))}H${right}`)];
  add(svg, 'path', { d: grid.join(''), stroke: 'var(--grid)', fill: 'none' });
  add(svg, 'path', { d: `M${left} ${top}V${bottom}H${right}`, stroke: 'var(--line)', fill: 'none' });
  for (const [at, word] of ticksOf.x) {
    const place = x.names ? { 'text-anchor': 'end', transform: `translate(${fixed(px(at) + 4)} ${bottom + 14}) rotate(-40)` } : { 'text-anchor': 'middle', x: fixed(px(at)), y: bottom + 16 };
    add(svg, 'text', place, word);
  }
  for (const [at, word] of ticksOf.y) add(svg, 'text', { 'text-anchor': 'end', x: left - 6, y: fixed(py(at) + 4) }, word);
  add(svg, 'text', { 'text-anchor': 'middle', x: (left + right) / 2, y: frame.height - 6 }, x.label);
  add(svg, 'text', { 'text-anchor': 'middle', transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)` }, y.label);
}

// The whole picture of a state, so wide and at least so high, with what a pointer may find in it.
function picture(state, width, least) {
  const { figure, hidden, key } = state, hits = [];
  const svg = add(null, 'svg', { xmlns: 'http://www.w3.org/2000/svg', width, 'font-size': 12, 'font-family': 'system-ui, sans-serif', fill: 'var(--ink)' });
  add(svg, 'rect', { width: '100%', height: '100%', fill: 'var(--panel)' });
  const all = looks(figure), marks = markLooks(figure);
  const top = drawLegend(svg, [...all, ...marks], hidden, width);
  const height = least + Math.max(0, top - 44);
  const ticksOf = { x: ticked(state, 'x', width, height - top), y: ticked(state, 'y', width, height - top) };
  const words = name => ticksOf[name].map(tick => tick[1]), slanted = figure.x.names ? widest(words('x')) : 0;
  const left = Math.ceil(Math.max(14 + widest(words('y')) + (figure.y.label ? 18 : 0), slanted * 0.77 - 10));
  const frame = { left, right: width - (figure.x.names ? 14 : 30), top, height, bottom: Math.floor(height - 24 - slanted * 0.64 - (figure.x.label ? 18 : 0)),
    lowX: state.range.x[0], lowY: state.range.y[0] };
  const px = scaled(state, 'x', left, frame.right), py = scaled(state, 'y', frame.bottom, top);
  svg.setAttribute('height', height);
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  drawAxes(svg, state, frame, ticksOf, px, py);
  const clip = add(svg, 'clipPath', { id: `frame-${key}` });
  add(clip, 'rect', { x: left, y: top, width: Math.max(1, frame.right - left), height: Math.max(1, frame.bottom - top) });
  const clipped = add(svg, 'g', { 'clip-path': `url(#frame-${key})` }), drawn = { figure, px, py, frame, key };
  const group = look => add(clipped, 'g', { class: look.series ? 'trace' : 'mark' });
  for (const look of all) if (!hidden.has(look.name)) drawSeries(group(look), look, drawn, hits);
  for (const look of marks) if (!hidden.has(look.name)) drawMark(group(look), look, drawn, hits);
  return { svg, hits, frame };
}
