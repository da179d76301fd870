// Draws a mechanism and moves it. `SCENE` is what host/show/scene/description.py says of it; lengths in m, angles in rad.
"use strict";

class Arm {
  // One copy of the mechanism: a group a joint, in which its child link and what that carries stand.
  constructor(scene, look) {
    this.scene = scene;
    this.root = new THREE.Group();
    this.links = { base: this.root };
    this.joints = {};
    this.solids = [];
    for (const joint of scene.joints) this.addJoint(joint);
    for (const link of scene.links) this.dress(link, look);
    this.q = {};
    this.pose(Object.fromEntries(scene.joints.map((j) => [j.name, j.start])));
  }

  addJoint(joint) {
    const placed = new THREE.Group();
    placed.matrixAutoUpdate = false;
    placed.matrix.fromArray(joint.matrix);
    const moved = new THREE.Group();
    moved.matrixAutoUpdate = false;
    placed.add(moved);
    this.links[joint.parent].add(placed);
    this.links[joint.child] = moved;
    this.joints[joint.name] = { ...joint, placed, moved, vector: new THREE.Vector3(...joint.axis) };
  }

  dress(link, look) {
    const group = this.links[link.name];
    for (const mesh of link.meshes) this.put(group, meshGeometry(mesh), look.material(mesh.colour), mesh.matrix);
    for (const rod of link.rods) {
      const geometry = new THREE.CapsuleGeometry(link.radius, Math.max(rod.length, 1e-9), 6, 16);
      this.put(group, geometry, look.material(link.colour), rod.matrix);
    }
    if (look.ghost) return;
    for (const [kind, made] of Object.entries(marks(link))) {
      made.userData.kind = kind;
      group.add(made);
    }
  }

  put(group, geometry, material, matrix) {
    const solid = new THREE.Mesh(geometry, material);
    solid.matrixAutoUpdate = false;
    solid.matrix.fromArray(matrix);
    solid.userData.kind = "solid";
    group.add(solid);
    this.solids.push(solid);
  }

  // Positions by joint name, rad or m; joints that are not named stay.
  pose(q) {
    for (const [name, value] of Object.entries(q)) {
      const joint = this.joints[name];
      if (!joint) continue;
      this.q[name] = value;
      if (joint.type === "prismatic") joint.moved.matrix.makeTranslation(...joint.axis.map((a) => a * value));
      else joint.moved.matrix.makeRotationAxis(joint.vector, value);
      joint.moved.matrixWorldNeedsUpdate = true;
    }
    this.root.updateMatrixWorld(true);
  }

  // Matrices of the links in the frame of the base, 16 numbers each, column after column.
  places() {
    this.root.updateMatrixWorld(true);
    const back = new THREE.Matrix4().copy(this.root.matrixWorld).invert();
    return Object.fromEntries(Object.entries(this.links).map(([name, link]) =>
      [name, new THREE.Matrix4().multiplyMatrices(back, link.matrixWorld).toArray()]));
  }

  // Close the loops: passive joints by Gauss and Newton, the others stay. Returns what is left open, m and rad.
  close() {
    const free = this.scene.joints.filter((j) => j.moving && !j.actuated).map((j) => j.name);
    if (!this.scene.loops.length || !free.length) return 0;
    const norm = (r) => Math.hypot(...r);
    let gap = this.gaps();
    for (let round = 0; round < 30 && norm(gap) > 1e-12; round++) {
      const J = free.map((name) => {
        const q = this.q[name], h = 1e-6;
        this.pose({ [name]: q + h });
        const ahead = this.gaps();
        this.pose({ [name]: q - h });
        const behind = this.gaps();
        this.pose({ [name]: q });
        return ahead.map((a, i) => (a - behind[i]) / (2 * h));
      });
      const step = leastSquares(J, gap), before = free.map((name) => this.q[name]), was = norm(gap);
      for (let share = 1; share > 1e-3; share /= 2) {
        this.pose(Object.fromEntries(free.map((name, k) => [name, before[k] - share * step[k]])));
        gap = this.gaps();
        if (norm(gap) < was) break;
      }
      if (norm(gap) >= was) break;
    }
    return norm(gap);
  }

  gaps() {
    const found = [];
    for (const loop of this.scene.loops) {
      const [A, B] = [loop.a, loop.b].map((end) =>
        new THREE.Matrix4().multiplyMatrices(this.links[end.link].matrixWorld, new THREE.Matrix4().fromArray(end.matrix)));
      const apart = new THREE.Matrix4().copy(A).invert().multiply(B).elements;  // b seen from a
      const place = [apart[12], apart[13], apart[14]];
      found.push(...(loop.type === "planar" ? place.slice(0, 2) : place));
      if (loop.type === "revolute") found.push(apart[8], apart[9]);
      if (loop.type === "rigid") found.push((apart[6] - apart[9]) / 2, (apart[8] - apart[2]) / 2, (apart[1] - apart[4]) / 2);
    }
    return found;
  }
}

// x that makes J x nearest to r; J as a list of columns. Normal equations, slightly damped.
function leastSquares(J, r) {
  const n = J.length, dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0);
  const A = J.map((a, i) => J.map((b, k) => dot(a, b) + (i === k ? 1e-14 : 0))), y = J.map((a) => dot(a, r));
  for (let i = 0; i < n; i++) {
    let p = i;
    for (let k = i + 1; k < n; k++) if (Math.abs(A[k][i]) > Math.abs(A[p][i])) p = k;
    [A[i], A[p]] = [A[p], A[i]];
    [y[i], y[p]] = [y[p], y[i]];
    for (let k = i + 1; k < n; k++) {
      const f = A[k][i] / A[i][i];
      for (let l = i; l < n; l++) A[k][l] -= f * A[i][l];
      y[k] -= f * y[i];
    }
  }
  const x = new Array(n).fill(0);
  for (let i = n - 1; i >= 0; i--) x[i] = (y[i] - A[i].slice(i + 1).reduce((s, a, k) => s + a * x[i + 1 + k], 0)) / A[i][i];
  return x;
}

function meshGeometry(mesh) {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(bytes(mesh.vertices)), 3));
  geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(bytes(mesh.faces)), 1));
  geometry.computeVertexNormals();
  return geometry;
}

// What can be shown besides solids: frame, centre of gravity, ellipsoid of inertia.
function marks(link) {
  const made = {};
  made.frames = new THREE.AxesHelper(4 * link.radius);
  if (!link.mass) return made;
  const centre = new THREE.Mesh(new THREE.SphereGeometry(0.9 * link.radius, 16, 12), new THREE.MeshBasicMaterial({ color: 0xd9822b }));
  centre.material.depthTest = false;
  centre.renderOrder = 2;
  centre.position.set(...link.com);
  made.centres = centre;
  const round = new THREE.Mesh(new THREE.SphereGeometry(1, 24, 16), new THREE.MeshStandardMaterial({
    color: 0x8a63b8, transparent: true, opacity: 0.35, depthWrite: false }));
  round.matrixAutoUpdate = false;
  round.matrix.fromArray(link.ellipsoid);
  made.inertias = round;
  return made;
}

const LOOKS = {
  solid: { material: (colour) => new THREE.MeshStandardMaterial({ color: colour, roughness: 0.6, metalness: 0.1 }) },
  ghost: { ghost: true, material: () => new THREE.MeshStandardMaterial({ color: 0x1b6ec2, transparent: true, opacity: 0.25, depthWrite: false }) },
};

const OPENING = 0.7;  // rad, of the camera

class View {
  constructor(holder, scene) {
    this.data = scene;
    this.world = new THREE.Scene();
    this.up = new THREE.Group();  // the mechanism's z, or what gravity says is up, is the page's y
    this.up.quaternion.setFromUnitVectors(new THREE.Vector3(...scene.up), new THREE.Vector3(0, 1, 0));
    this.world.add(this.up);
    this.arm = new Arm(scene, LOOKS.solid);
    this.up.add(this.arm.root);
    this.arm.close();
    this.world.add(new THREE.HemisphereLight(0xffffff, 0x8899aa, 2.2));
    const sun = new THREE.DirectionalLight(0xffffff, 1.8);
    sun.position.set(2, 4, 3);
    this.world.add(sun);
    this.grid = new THREE.GridHelper(4 * scene.size, 16, 0x8894a0, 0x8894a0);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.35;
    this.world.add(this.grid);
    this.loops = this.loopLines();
    this.camera = new THREE.PerspectiveCamera(OPENING * 180 / Math.PI, 1, 0.01 * scene.size, 50 * scene.size);
    this.frames = 0;
    try {
      this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true });
    } catch {
      holder.textContent = "This browser shows no 3-D here (no WebGL); the numbers beside are whole.";
      return;
    }
    holder.appendChild(this.renderer.domElement);
    this.controls = new THREE.OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.resize(holder)).observe(holder);
    this.resize(holder);
    this.home();
  }

  home() {
    const box = new THREE.Box3();
    for (const solid of this.arm.solids) box.expandByObject(solid);
    if (box.isEmpty()) box.setFromObject(this.arm.root);
    const middle = box.getCenter(new THREE.Vector3()), across = Math.max(box.getSize(new THREE.Vector3()).length(), 0.3 * this.data.size);
    const far = 0.55 * across / Math.sin(OPENING / 2) / Math.min(1, this.camera.aspect);
    this.camera.position.copy(middle).add(new THREE.Vector3(0.55, 0.42, 0.72).multiplyScalar(far));
    this.controls.target.copy(middle);
    this.controls.update();
  }

  loopLines() {
    return this.data.loops.map((loop) => {
      const line = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xc2362b }));
      this.world.add(line);
      return { loop, line };
    });
  }

  resize(holder) {
    const width = Math.max(holder.clientWidth, 1), height = Math.max(holder.clientHeight, 1);
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  show(kind, shown) {
    this.arm.root.traverse((thing) => { if (thing.userData.kind === kind) thing.visible = shown; });
    this.draw();
  }

  ghost() {
    if (!this.shadow) {
      this.shadow = new Arm(this.data, LOOKS.ghost);
      this.up.add(this.shadow.root);
    }
    return this.shadow;
  }

  // shares: of its limit that each joint's torque is, by name; the link that it drives takes the colour.
  colour(shares) {
    for (const [name, share] of Object.entries(shares)) {
      const tone = new THREE.Color().setHSL(0.33 * (1 - Math.min(Math.abs(share), 1)), 0.75, 0.45);
      this.arm.joints[name].moved.children.filter((c) => c.userData.kind === "solid").forEach((c) => c.material.color.copy(tone));
    }
  }

  draw() {
    for (const { loop, line } of this.loops) {
      const ends = [loop.a, loop.b].map((end) => new THREE.Vector3(end.matrix[12], end.matrix[13], end.matrix[14])
        .applyMatrix4(this.arm.links[end.link].matrixWorld));  // nothing to see where the loop is closed
      line.geometry.setFromPoints(ends);
    }
    if (this.renderer) this.renderer.render(this.world, this.camera);
    this.frames++;
  }
}

// ---- the page around it

const element = (id) => document.getElementById(id);

function sliders(view) {
  const rows = element("joints");
  for (const joint of view.data.joints.filter((j) => j.moving)) {
    const row = document.createElement("label"), name = document.createElement("span"), value = document.createElement("output");
    const input = Object.assign(document.createElement("input"), { type: "range", step: "any" });
    [input.min, input.max] = [joint.lower ?? -Math.PI, joint.upper ?? Math.PI];
    input.value = view.arm.q[joint.name];
    input.setAttribute("aria-label", `${joint.name}, ${joint.unit}`);
    name.textContent = name.title = joint.name;
    input.disabled = !joint.actuated && view.data.loops.length > 0;
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
      input.value = view.arm.q[joint.name];
      value.textContent = `${view.arm.q[joint.name].toFixed(3).replace(/^-(0\.0*)$/, "$1")} ${joint.unit}`;
      row.classList.toggle("beyond", view.arm.q[joint.name] < (joint.lower ?? -Infinity) - 1e-9
        || view.arm.q[joint.name] > (joint.upper ?? Infinity) + 1e-9);
    };
  }
  const refresh = () => [...rows.children].forEach((row) => row.update());
  refresh();
  return refresh;
}

// A motion: `motion.t`, and rows of positions and shares of the torque's limit by sample.
function player(view, refresh) {
  const motion = view.data.motion;
  if (!motion) return;
  const slider = element("time"), button = element("play"), clock = element("clock");
  element("player").hidden = false;
  slider.max = motion.t.length - 1;
  const named = (row) => Object.fromEntries(motion.joints.map((name, k) => [name, row[k]]));
  const seek = (k) => {
    slider.value = k;
    clock.textContent = `${motion.t[k].toFixed(2)} s`;
    view.arm.pose(named((motion.measured ?? motion.desired)[k]));
    view.arm.close();
    if (motion.measured) {
      view.ghost().pose(named(motion.desired[k]));
      view.shadow.close();
    }
    if (motion.shares) view.colour(named(motion.shares[k]));
    view.draw();
    refresh();
  };
  let began = null;
  const stop = () => { began = null; button.textContent = "Play"; };
  const step = (now) => {
    if (began === null) return;
    const t = (now - began) / 1000;
    let k = motion.t.findIndex((x) => x >= t);
    if (k < 0) { k = motion.t.length - 1; stop(); }
    seek(k);
    if (began !== null) requestAnimationFrame(step);
  };
  button.addEventListener("click", () => {
    if (began !== null) return stop();
    const from = Number(slider.value) >= motion.t.length - 1 ? 0 : motion.t[Number(slider.value)];
    began = performance.now() - 1000 * from;
    button.textContent = "Pause";
    requestAnimationFrame(step);
  });
  slider.addEventListener("input", () => { stop(); seek(Number(slider.value)); });
  seek(0);
  return seek;
}

function start() {
  const view = new View(element("view"), SCENE);
  const refresh = sliders(view), seek = player(view, refresh);
  for (const box of document.querySelectorAll("input[data-kind]")) {
    const apply = () => view.show(box.dataset.kind, box.checked);
    box.addEventListener("change", apply);
    apply();
  }
  element("home")?.addEventListener("click", () => view.home());
  window.femtorque = {
    view, seek,
    places: (q) => { view.arm.pose(q); return view.arm.places(); },
    close: () => view.arm.close(),
    positions: () => ({ ...view.arm.q }),
  };
}
start();
