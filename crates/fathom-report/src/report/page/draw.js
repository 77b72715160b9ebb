'use strict';
// Draws each figure from its definition with plotly.js, once it comes into sight: a page of thirty charts opens
// as fast as one. Ticks are made here, because sizes are counted in powers of two.
(() => {
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const dashes = ['solid', 'dash', 'dot', 'dashdot', 'longdash', 'longdashdot'];
  const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'x', 'star'];
  const patterns = ['', '/', 'x', '.', '-', '|', '+'];
  const markDash = { timing: 'dash', witness: 'dot', declared: 'longdashdot', reference: 'solid' };
  const states = new Map();

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const faint = (hex, part) => hex + Math.round(part * 255).toString(16).padStart(2, '0');
  const digits = value => String(parseFloat(value.toPrecision(4)));

  function binary(value) {
    const size = Math.abs(value);
    const power = size >= 1 ? Math.min(4, Math.floor(Math.log2(size) / 10)) : 0;
    return digits(value / 2 ** (10 * power)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power];
  }
  function time(ns) {
    const steps = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
    const [scale, unit] = steps.find(step => Math.abs(ns) >= step[0]) || steps[3];
    return digits(ns / scale) + ' ' + unit;
  }
  const words = {
    bytes: binary, bytes_per_second: value => binary(value) + '/s', nanoseconds: time,
    share: value => digits(value * 100) + ' %', times: value => digits(value) + ' x',
    count: value => String(parseFloat(value.toPrecision(12))), nanoseconds_per_byte: value => digits(value) + ' ns/B',
  };
  const wording = axis => axis.names ? value => axis.names[Math.abs(Math.round(value))] : words[axis.quantity];

  // Round numbers of a quantity between two values: powers of two for sizes, 1-2-5 for the rest.
  function ticks(quantity, low, high, log, room) {
    const isBinary = quantity.startsWith('bytes');
    const found = [];
    if (log) {
      const base = isBinary ? 2 : 10;
      const first = Math.log(Math.max(low, 1e-12)) / Math.log(base), last = Math.log(high) / Math.log(base);
      const step = Math.max(1, Math.ceil((last - first) / room));
      for (let power = Math.ceil(first / step - 1e-9) * step; power <= last + 1e-9; power += step) {
        for (const factor of !isBinary && last - first < 3 ? [1, 2, 5] : [1]) found.push(factor * base ** power);
      }
      if (found.filter(value => value >= low && value <= high).length >= 2) return found;
      found.length = 0;
    }
    const rough = (high - low) / room;
    if (!(rough > 0)) return [low];
    const power = isBinary ? 2 ** Math.ceil(Math.log2(rough)) : 10 ** Math.floor(Math.log10(rough));
    const step = isBinary ? Math.max(power, 1) : power * [1, 2, 5, 10].find(one => one * power >= rough);
    for (let at = Math.ceil(low / step); at * step <= high && found.length < 60; at++) found.push(at * step);
    return found;
  }

  // Where names stand upright, edges lie along the other axis.
  const isOfThings = figure => !!figure.y.names;

  function shown(state, name) {
    const values = [], logarithmic = state[name];
    const edged = isOfThings(state.figure) ? 'x' : 'y';
    for (const series of state.figure.series) {
      for (const key of name === edged ? [name, 'low', 'high'] : [name]) for (const value of series[key] || []) {
        if (value !== null && (!logarithmic || value > 0)) values.push(value);
      }
      if (series.style === 'bars' && name === edged && !logarithmic) values.push(0);
    }
    for (const mark of state.figure.marks) {
      const of = name === 'y' && ['level', 'levels', 'curve'].includes(mark.shape)
        || name === 'x' && mark.shape === 'between' ? mark[name] : [];
      for (const value of [].concat(of)) if (!logarithmic || value > 0) values.push(value);
    }
    return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  }

  // Where the frame is at first, in the numbers of the data.
  function frame(state, name) {
    const { range: given, names } = state.figure[name];
    // Upright the first stands at the top: a thing's place there is its number, negative.
    if (names) return name === 'y' ? [0.5 - names.length, 0.5] : [-0.5, names.length - 0.5];
    let [low, high] = given && !state[name] ? given : shown(state, name);
    if (!(high >= low)) [low, high] = [0, 1];
    if (state[name]) {
      const room = Math.max(Math.log(high / low) * 0.03, 0.02);
      return [low * Math.exp(-room), high * Math.exp(room)];
    }
    const room = (high - low || Math.abs(high) || 1) * 0.03;
    return [low - room, high + room];
  }

  // As many of the names in the frame as there is room for.
  function named(state, name, chart) {
    const [low, high] = state.range[name];
    const within = [...state.figure[name].names.keys()].map(at => name === 'y' ? -at : at).filter(at => at >= low && at <= high);
    const every = Math.ceil(within.length * 18 / (name === 'x' ? chart.clientWidth - 60 : chart.clientHeight - 60));
    return within.filter((_, at) => at % every === 0);
  }

  function axis(state, name, chart) {
    const { quantity, label, names } = state.figure[name];
    const [low, high] = state.range[name];
    const log = state[name];
    const room = name === 'x' ? Math.max(3, Math.floor(chart.clientWidth / 110)) : 7;
    const places = names ? named(state, name, chart) : ticks(quantity, low, high, log, room);
    const says = wording(state.figure[name]), longest = Math.max(10, Math.floor(chart.clientWidth / 18));
    // Names that begin alike often end differently: what is left out is the middle.
    const shortened = word => word.length <= longest ? word
      : word.slice(0, Math.ceil(longest / 2) - 1) + '\u2026' + word.slice(-Math.floor(longest / 2));
    const labelOf = place => names ? shortened(says(place)) : says(place);
    return {
      title: { text: label, standoff: 6 }, type: log ? 'log' : 'linear',
      range: log ? [Math.log10(low), Math.log10(high)] : [low, high],
      tickmode: 'array', tickvals: places, ticktext: places.map(labelOf), tickangle: names && name === 'x' ? -40 : 0,
      gridcolor: colour('grid'), linecolor: colour('line'), zeroline: false, automargin: true,
    };
  }

  const hoverTexts = (figure, series) => series.x.map((x, at) => {
    const [fx, fy] = [wording(figure.x), wording(figure.y)];
    const fe = isOfThings(figure) ? fx : fy;
    const edges = series.low ? `<br>${fe(series.low[at])} to ${fe(series.high[at])}` : '';
    return `${fx(x)}<br>${fy(series.y[at])}${edges}`;
  });

  function seriesTraces(state) {
    const traces = [];
    const ofThings = isOfThings(state.figure), count = state.figure.series.length;
    let lines = 0;
    state.figure.series.forEach(series => {
      const dots = series.style === 'dots';
      const place = dots ? 6 : lines++;
      const own = colour('c' + place % 7);
      // Several readings of a thing stand beside each other.
      const beside = series.style !== 'bars' ? (place - (count - 1) / 2) * 0.7 / count : 0;
      const x = state.figure.x.names ? series.x.map(at => at + beside) : series.x;
      const base = { name: series.name, legendgroup: series.name, x };
      const y = ofThings ? series.y.map(at => -at - beside) : series.y;
      if (series.low && series.style === 'line') {
        const silent = { ...base, mode: 'lines', line: { width: 0 }, hoverinfo: 'skip', showlegend: false };
        traces.push({ ...silent, y: series.low }, { ...silent, y: series.high, fill: 'tonexty', fillcolor: faint(own, 0.25) });
      }
      const trace = {
        ...base, y, text: hoverTexts(state.figure, series), hovertemplate: '%{text}<extra>%{fullData.name}</extra>',
        mode: dots || ['markers', 'specks', 'estimates'].includes(series.style) || state.figure.x.names || ofThings ? 'markers' : series.style === 'points' ? 'lines+markers' : 'lines',
        line: { color: own, width: 1.6, dash: dashes[place % dashes.length], shape: series.style === 'steps' ? 'hv' : 'linear' },
        marker: { color: dots ? faint(own, 0.6) : own, size: dots || series.style === 'specks' ? 4 : 7, symbol: dots ? 'x-thin-open' : symbols[place % symbols.length] },
      };
      if (series.style === 'bars') {
        Object.assign(trace, { type: 'bar', textposition: 'none', orientation: ofThings ? 'h' : 'v',
          marker: { color: own, pattern: { shape: patterns[place % patterns.length], fgcolor: colour('panel'), bgcolor: own, solidity: 0.25 } } });
      }
      if (series.low && ['points', 'bars', 'estimates'].includes(series.style)) {
        const { low, high } = series, at = ofThings ? series.x : series.y;
        trace[ofThings ? 'error_x' : 'error_y'] = { type: 'data', symmetric: false, array: high.map((one, i) => one - at[i]),
          arrayminus: low.map((one, i) => at[i] - one), color: own, thickness: 1.2, width: 3 };
      }
      traces.push(trace);
    });
    return traces;
  }

  // Marks reach across the frame wherever it is: upright ones have a hidden axis from 0 to 1, level ones too.
  function markTraces(state) {
    const { x: fx, y: fy } = state.figure;
    const seen = {};
    return state.figure.marks.map(mark => {
      const own = colour(mark.origin);
      // Lines of one origin have dashes of their own, the first that of the origin.
      const isLine = !['between', 'levels'].includes(mark.shape);
      const before = isLine ? (seen[mark.origin] = (seen[mark.origin] ?? -1) + 1) : 0;
      const all = [markDash[mark.origin], ...dashes.filter(dash => dash !== markDash[mark.origin])];
      const trace = { name: mark.name, mode: 'lines', line: { color: own, width: 1.3, dash: all[before % all.length] },
        hovertemplate: '%{text}<extra>%{fullData.name}</extra>' };
      const band = { ...trace, fill: 'toself', fillcolor: faint(own, 0.2), line: { ...trace.line, width: 0 }, hoverinfo: 'skip', hovertemplate: undefined };
      if (mark.shape === 'at') {
        const text = mark.x.flatMap(x => Array(3).fill(wording(fx)(x)));
        return { ...trace, text, x: mark.x.flatMap(x => [x, x, null]), y: mark.x.flatMap(() => [0, 1, null]), yaxis: 'y2' };
      }
      if (mark.shape === 'between') {
        const [low, high] = mark.x;
        return { ...band, x: [low, high, high, low], y: [0, 0, 1, 1], yaxis: 'y2' };
      }
      if (mark.shape === 'level') {
        const text = wording(fy)(mark.y);
        return { ...trace, text: [text, text], x: [0, 1], y: [mark.y, mark.y], xaxis: 'x2' };
      }
      if (mark.shape === 'levels') {
        const [low, high] = mark.y;
        return { ...band, x: [0, 1, 1, 0], y: [low, low, high, high], xaxis: 'x2' };
      }
      return { ...trace, x: mark.x, y: mark.y, text: mark.y.map(wording(fy)) };
    });
  }

  function layout(state, chart) {
    const hidden = { range: [0, 1], fixedrange: true, visible: false };
    return {
      paper_bgcolor: colour('panel'), plot_bgcolor: colour('panel'), font: { color: colour('ink'), size: 12, family: 'system-ui, sans-serif' },
      margin: { l: 10, r: 14, t: 8, b: 10 }, hovermode: 'closest', barmode: 'group', dragmode: 'zoom',
      hoverlabel: { bgcolor: colour('ground'), bordercolor: colour('line'), font: { color: colour('ink') } },
      legend: { orientation: 'h', x: 0, y: 1, xanchor: 'left', yanchor: 'bottom', font: { size: 11 } },
      xaxis: axis(state, 'x', chart), yaxis: axis(state, 'y', chart),
      xaxis2: { ...hidden, overlaying: 'x' }, yaxis2: { ...hidden, overlaying: 'y' },
    };
  }

  const settings = { responsive: true, displayModeBar: false, displaylogo: false, showSendToCloud: false, plotlyServerURL: '' };
  const redraw = chart => {
    const state = states.get(chart);
    return Plotly.react(chart, [...seriesTraces(state), ...markTraces(state)], layout(state, chart), settings);
  };

  function zoomTo(chart, name, low, high) {
    const state = states.get(chart);
    if (high > low && (!state[name] || low > 0)) state.range[name] = [low, high];
  }
  function reset(chart) {
    const state = states.get(chart);
    for (const name of ['x', 'y']) state.range[name] = frame(state, name);
    return redraw(chart);
  }
  // By a factor around the middle, or along by a part of the frame.
  function move(chart, name, factor, shift) {
    const state = states.get(chart), log = state[name];
    const [low, high] = state.range[name].map(value => log ? Math.log(value) : value);
    const half = (high - low) / 2 * factor, middle = (low + high) / 2 + shift * (high - low);
    zoomTo(chart, name, ...[middle - half, middle + half].map(value => log ? Math.exp(value) : value));
  }

  function followed(chart, change) {
    const state = states.get(chart);
    let seen = false;
    for (const name of ['x', 'y']) {
      const key = name + 'axis';
      const range = change[key + '.range'] || [change[key + '.range[0]'], change[key + '.range[1]']];
      if (range[0] !== undefined) {
        zoomTo(chart, name, ...range.map(value => state[name] ? 10 ** value : +value));
        seen = true;
      }
    }
    if (Object.keys(change).some(key => key.endsWith('autorange'))) reset(chart);
    else if (seen) redraw(chart);
  }

  function draw(figure) {
    const chart = figure.querySelector('.chart');
    if (states.has(chart)) return Promise.resolve();
    const definition = figures[figure.dataset.figure];
    const state = { figure: definition, x: definition.x.log, y: definition.y.log, range: {} };
    states.set(chart, state);
    for (const name of ['x', 'y']) state.range[name] = frame(state, name);
    return redraw(chart).then(() => {
      chart.on('plotly_relayout', change => followed(chart, change));
      figure.dataset.drawn = 'yes';
    });
  }

  const acts = {
    'log-x': (chart, button) => switched(chart, 'x', button), 'log-y': (chart, button) => switched(chart, 'y', button),
    in: chart => (move(chart, 'x', 0.5, 0), redraw(chart)), out: chart => (move(chart, 'x', 2, 0), redraw(chart)),
    reset, svg: chart => save(chart, 'svg'), png: chart => save(chart, 'png'),
  };
  function switched(chart, name, button) {
    const state = states.get(chart);
    state[name] = !state[name];
    button.setAttribute('aria-pressed', state[name]);
    state.range[name] = frame(state, name);
    return redraw(chart);
  }
  const save = (chart, format) => Plotly.downloadImage(chart, {
    format, filename: 'fathom-' + states.get(chart).figure.id, width: 1000, height: 520, scale: format === 'png' ? 2 : 1 });

  const keys = {
    '+': chart => move(chart, 'x', 0.5, 0), '-': chart => move(chart, 'x', 2, 0),
    ArrowLeft: chart => move(chart, 'x', 1, -0.2), ArrowRight: chart => move(chart, 'x', 1, 0.2),
    ArrowUp: chart => move(chart, 'y', 1, 0.2), ArrowDown: chart => move(chart, 'y', 1, -0.2),
  };

  // The numbers as a table, for whoever can't see the chart or wants to copy them.
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

  const all = [...document.querySelectorAll('figure[data-figure]')];
  // A chart takes longer to draw than a frame lasts: nothing is drawn while somebody scrolls, then what is in sight
  // first, one after another with a frame between.
  let scrolled = -Infinity;
  addEventListener('scroll', () => { scrolled = performance.now(); }, { passive: true });
  const still = () => new Promise(done => {
    const look = () => performance.now() - scrolled > 120 ? done() : setTimeout(look, 40);
    look();
  });
  const isInSight = figure => {
    const { top, bottom } = figure.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const wanted = new Set();
  let working = null;
  async function work() {
    while (wanted.size) {
      await still();
      const figure = [...wanted].find(isInSight) || [...wanted][0];
      wanted.delete(figure);
      await draw(figure);
      await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    }
    working = null;
  }
  const soon = figure => {
    wanted.add(figure);
    return working ??= work();
  };
  // What is not in sight yet is drawn while nobody does anything.
  const rest = () => {
    const figure = all.find(one => !states.has(one.querySelector('.chart')));
    if (figure) soon(figure).then(() => requestIdleCallback(rest));
  };
  const sight = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) { sight.unobserve(entry.target); soon(entry.target); }
  }, { rootMargin: '1200px' });
  for (const figure of all) {
    sight.observe(figure);
    const chart = figure.querySelector('.chart');
    figure.querySelector('.buttons').addEventListener('click', event => {
      const act = acts[event.target.dataset.act];
      if (act) draw(figure).then(() => act(chart, event.target));
    });
    chart.addEventListener('keydown', event => {
      const key = event.key === '=' ? '+' : event.key;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (key === '0') { reset(chart); return; }
      if (!keys[key]) return;
      event.preventDefault();
      keys[key](chart);
      redraw(chart);
    });
    figure.querySelector('.numbers').addEventListener('toggle', () => numbers(figure));
  }
  requestIdleCallback(rest);

  // Nets are drawings already; they are made larger, smaller, and saved.
  for (const figure of document.querySelectorAll('figure.drawing')) {
    const svg = figure.querySelector('svg');
    const by = factor => {
      svg.style.width = svg.getBoundingClientRect().width * factor + 'px';
      svg.style.maxWidth = 'none';
    };
    const doings = {
      wider: () => by(1.4), narrower: () => by(1 / 1.4), natural: () => svg.removeAttribute('style'),
      save: () => {
        const link = document.createElement('a');
        link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: 'image/svg+xml' }));
        link.download = 'fathom-' + figure.id + '.svg';
        link.click();
        URL.revokeObjectURL(link.href);
      },
    };
    figure.querySelector('.buttons').addEventListener('click', event => doings[event.target.dataset.act]?.());
  }

  const again = () => states.forEach((_, chart) => redraw(chart));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  // On paper every figure is drawn, in the colours of paper; the media query has them by then.
  matchMedia('print').addEventListener('change', again);
  addEventListener('beforeprint', () => all.forEach(draw));
})();
