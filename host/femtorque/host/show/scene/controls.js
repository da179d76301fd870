// The controls of a page around a View of viewer.js: joints, time of a motion, what is shown. A page may lack any of them.
"use strict";

const element = (id) => document.getElementById(id);
const plain = (x, digits) => x.toFixed(digits).replace(/^-(0\.?0*)$/, "$1");

// One slider for each joint. If loops or another joint move a joint, its slider only shows the position.
function sliders(view) {
  const rows = element("joints");
  if (!rows) return () => {};
  for (const joint of view.data.joints.filter((j) => j.moving)) {
    const row = document.createElement("label"), name = document.createElement("span"), value = document.createElement("output");
    const input = Object.assign(document.createElement("input"), { type: "range", step: "any" });
    [input.min, input.max] = [joint.lower ?? -Math.PI, joint.upper ?? Math.PI];
    input.setAttribute("aria-label", `${joint.name}, ${joint.unit}`);
    name.title = joint.name;
    name.append(...joint.name.split(/(?<=_)/).flatMap((part) => [part, document.createElement("wbr")]));
    input.addEventListener("input", () => {
      view.arm.pose({ [joint.name]: Number(input.value) });
      const open = view.arm.close();
      element("open").textContent = open > 1e-6 ? "the loops do not close here" : "";
      view.draw();
      refresh();
    });
    row.append(name, input, value);
    rows.append(row);
    row.update = () => {
      const q = view.arm.q[joint.name], beyond = q < (joint.lower ?? -Infinity) - SLACK || q > (joint.upper ?? Infinity) + SLACK;
      input.value = q;
      input.disabled = Boolean(joint.mimic) || (view.arm.loops.length > 0 && view.arm.passive.includes(joint.name));
      value.textContent = `${plain(q, 3)} ${joint.unit}`;
      row.classList.toggle("beyond", beyond);
      row.title = beyond ? "beyond its range" : "";
    };
  }
  const refresh = () => { for (const row of rows.children) row.update(); };
  refresh();
  return refresh;
}

// Rows of numbers, one for each sample, interpolated between samples.
class Rows {
  constructor(t, rows) { Object.assign(this, { t, rows }); }

  at(time) {
    const { t, rows } = this;
    let low = 0, high = t.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (t[middle] <= time) low = middle; else high = middle; }
    const share = high > low ? Math.min(Math.max((time - t[low]) / (t[high] - t[low]), 0), 1) : 0;
    return rows[low].map((x, k) => x === null || rows[high][k] === null ? x : x + share * (rows[high][k] - x));
  }
}

// What the arm feels, in words: contacts (if simulated), and joints that something pushes.
const felt = (pushed, around) => [...(around ? around.contacts.map(touched) : []),
  ...(pushed.length ? [`pushed, unforeseen: ${pushed.join(", ")}`] : [])].join("; ");
const touched = ([link, thing, , , , ...force]) => `${thing} touches ${link}: ${Number(Math.hypot(...force).toPrecision(2))} N`;

const SMOOTH = 1000 / 30;  // ms for each frame
const COARSEST = 0.4;  // least share of the sharpness
const NUMBERS = 8;  // updates of the numbers per second while a motion plays
const LOOKS_AT = 12;  // poses of a motion from which its reach is found

// Plays a motion. Its time moves the arm, the ghosts, the colours and, by the event "moment", the curves beside them.
class Player {
  constructor(view, refresh) {
    const motion = this.motion = view.data.motion;
    Object.assign(this, { view, refresh, time: 0, began: null, written: 0, last: motion.t[motion.t.length - 1] });
    this.rows = Object.fromEntries(["desired", "measured", "true", "shares", "pushed"].filter((kind) => motion[kind])
      .map((kind) => [kind, new Rows(motion.t, motion[kind])]));
    this.bends = Object.fromEntries(Object.entries(motion.bends).map(([name, rows]) => [name, new Rows(motion.t, rows)]));
    this.trueBends = Object.fromEntries(Object.entries(motion.true_bends).map(([name, rows]) => [name, new Rows(motion.t, rows)]));
    this.slider = element("time");
    this.button = element("play");
    element("player").hidden = false;
    Object.assign(this.slider, { min: 0, max: this.last, step: Math.max(this.last / 2000, 1e-3) });
    this.slider.addEventListener("input", () => { this.stop(); this.seek(Number(this.slider.value)); });
    this.button.addEventListener("click", () => this.began === null ? this.play() : this.stop());
    element("apart")?.addEventListener("change", () => this.seek(this.time));
    element("mode")?.addEventListener("change", () => this.stop());
    document.addEventListener("goto", (event) => { this.stop(); this.seek(event.detail); });
    document.addEventListener("keydown", (event) => {
      if (event.key === " " && event.target === document.body) { event.preventDefault(); this.button.click(); }
    });
    if (motion.path) view.way(motion.path, motion.waypoints.map(([t]) => new Rows(motion.t, motion.path).at(t)));
    const reach = [];
    for (let k = 0; k <= LOOKS_AT; k++) {
      this.seek(this.last * k / LOOKS_AT);
      reach.push(...view.corners());
    }
    view.reach = reach;
    view.home();
    this.seek(Number(new URLSearchParams(location.search).get("t")) || 0);  // run.html?t=1.2
  }

  named(kind, time) {
    const row = this.rows[kind].at(time);
    return Object.fromEntries(this.motion.joints.map((name, k) => [name, row[k]]));
  }

  // Enlarges the difference from the desired position by the factor that the page offers.
  apart(q, desired) {
    const times = Number(element("apart")?.value ?? 1);
    return Object.fromEntries(Object.entries(q).map(([name, x]) => [name, x === null ? x : desired[name] + times * (x - desired[name])]));
  }

  seek(time) {
    const { view, motion } = this;
    this.time = Math.min(Math.max(time, 0), this.last);
    const desired = this.named("desired", this.time);
    this.enter();
    this.put(view.arm, this.rows.measured ? this.apart(this.named("measured", this.time), desired) : desired);
    if (this.rows.measured) this.put(view.other("ghost"), desired);
    if (this.rows.true) this.put(view.other("true"), this.apart(this.named("true", this.time), desired), this.trueBends);
    if (this.rows.shares) view.colour(this.named("shares", this.time));
    const pushed = this.rows.pushed ? view.push(this.named("pushed", this.time)) : [], around = this.around();
    if (around) view.around(around);
    this.tell(motion.marks.filter(([from, until]) => from <= this.time && this.time <= until), pushed, around);
    view.draw();
    const now = performance.now(), write = this.began === null || now - this.written > 1000 / NUMBERS;
    if (write) {
      this.refresh();
      this.written = now;
    }
    document.dispatchEvent(new CustomEvent("moment", { detail: { time: this.time, write } }));
  }

  put(arm, q, bends = this.bends) {
    for (const [name, rows] of Object.entries(bends)) arm.bend(name, rows.at(this.time).map((x) => this.motion.larger * x));
    arm.pose(q);
    arm.close();
  }

  // What was around the arm at the last sample up to this time.
  around() {
    const { t, around } = this.motion;
    return around.length ? around[Math.max(t.findLastIndex((at) => at <= this.time + 1e-9), 0)] : null;
  }

  enter() {
    const switches = this.motion.modes.filter(([from]) => from <= this.time + 1e-9);
    if (!switches.length) return;
    const [, name] = switches[switches.length - 1];
    if (this.view.arm.mode?.name !== name) this.view.enter(name);
    if (element("mode")) element("mode").value = name;
  }

  tell(marks, pushed, around) {
    this.view.mark(marks.map(([, , joint]) => joint).filter((joint) => joint !== null));
    const faults = [...new Set(marks.map(([, , , text]) => text))].join("; "), clock = `${this.time.toFixed(2)} s`;
    this.slider.value = this.time;
    const feels = felt(pushed, around);
    this.slider.setAttribute("aria-valuetext", [clock, faults, feels].filter(Boolean).join(", "));
    element("clock").textContent = `${clock} of ${this.last.toFixed(2)} s`;
    if (element("wrong") && element("wrong").textContent !== faults) element("wrong").textContent = faults;
    if (element("felt")) element("felt").textContent = feels;
  }

  play() {
    const from = this.time >= this.last - 1e-9 ? 0 : this.time;
    this.began = performance.now() - 1000 * from;
    this.button.textContent = "Pause";
    Object.assign(this, { before: performance.now(), took: SMOOTH });
    requestAnimationFrame(() => this.step());
  }

  // If the machine draws too slowly, it draws fewer triangles while the motion plays, then less sharply too.
  step() {
    if (this.began === null) return;
    const now = performance.now(), time = (now - this.began) / 1000;
    this.took += 0.2 * (now - this.before - this.took);
    this.before = now;
    if (this.took > 1.1 * SMOOTH && this.view.scale > COARSEST) {
      this.view.sharpness(this.view.thinner ? Math.max(0.75 * this.view.scale, COARSEST) : 1, true);
      this.took = SMOOTH;
    }
    this.seek(time);
    if (this.time >= this.last) this.stop(); else requestAnimationFrame(() => this.step());
  }

  stop() {
    if (this.began === null) return;
    this.began = null;
    this.button.textContent = "Play";
    this.view.sharpness(1, false);
    this.refresh();
    document.dispatchEvent(new CustomEvent("moment", { detail: { time: this.time, write: true } }));
  }
}

// The choices of what is shown, the home button and the mode.
function choices(view, refresh) {
  for (const box of document.querySelectorAll("input[data-kind]")) {
    const apply = () => view.show(box.dataset.kind, box.checked);
    box.addEventListener("change", apply);
    apply();
  }
  element("home")?.addEventListener("click", () => view.home());
  element("mode")?.addEventListener("change", () => {
    view.enter(element("mode").value);
    view.arm.close();
    view.draw();
    refresh();
  });
}

function start(scene) {
  if (element("more") && window.innerWidth < 1150) element("more").open = false;
  const view = new View(element("view"), scene), refresh = sliders(view), player = scene.motion ? new Player(view, refresh) : null;
  choices(view, refresh);
  window.femtorque = {
    view, player,
    seek: (time) => player.seek(time),
    places: (q) => { view.arm.pose(q); return view.arm.places(); },
    close: () => view.arm.close(),
    positions: () => ({ ...view.arm.q }),
  };
  return view;
}
