// The axes of a figure: how numbers are worded, where ticks stand, and what is in the frame at first.
// Ticks are made here, because sizes are counted in powers of two.
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
function named(state, name, room) {
  const [low, high] = state.range[name];
  const within = [...state.figure[name].names.keys()].map(at => name === 'y' ? -at : at).filter(at => at >= low && at <= high);
  const every = Math.ceil(within.length * 18 / room);
  return within.filter((_, at) => at % every === 0);
}

// Names that begin alike often end differently: what is left out is the middle.
const shortened = (word, longest) => word.length <= longest ? word
  : word.slice(0, Math.ceil(longest / 2) - 1) + '\u2026' + word.slice(-Math.floor(longest / 2));

// Where ticks stand in the frame, with their words.
function ticked(state, name, width, height) {
  const [low, high] = state.range[name], { names, quantity } = state.figure[name];
  const room = name === 'x' ? Math.max(3, Math.floor(width / 110)) : 7;
  const places = names ? named(state, name, name === 'x' ? width - 60 : height - 60) : ticks(quantity, low, high, state[name], room);
  const says = wording(state.figure[name]), longest = names ? Math.max(10, Math.floor(width / 18)) : 99;
  return places.filter(place => place >= low && place <= high).map(place => [place, shortened(says(place), longest)]);
}
