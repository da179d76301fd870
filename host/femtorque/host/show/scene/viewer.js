// Draws a mechanism and moves it. host/scene/description.py makes the description. Lengths in m, angles in rad.
"use strict";

const matrixOf = (numbers) => new THREE.Matrix4().fromArray(numbers);

// Adds `thing` to `group`, at a fixed place in it.
function place(group, thing, matrix, kind) {
  thing.matrixAutoUpdate = false;
  if (matrix) thing.matrix.copy(matrix);
  thing.userData.kind = kind;
  group.add(thing);
  return thing;
}

class Arm {
  // One copy of the mechanism. Each joint has a group; the joint's child link and all that the link carries are in it.
  constructor(scene, look) {
    this.scene = scene;
    this.look = look;
    this.root = new THREE.Group();
    this.root.matrixAutoUpdate = false;
    this.links = { base: this.root };
    this.tips = {};  // the groups at the ends of flexible links
    this.beams = {};
    this.bent = {};  // tip deflection of each flexible link, m
    this.joints = {};
    this.solids = [];
    this.loads = {};
    this.bodies = Object.fromEntries(scene.links.map((link) => [link.name, link]));
    for (const joint of scene.joints) this.addJoint(joint);
    for (const link of scene.links) this.dress(link);
    for (const load of scene.payloads) this.carry(load);
    this.q = {};
    this.mode = null;
    this.pose(Object.fromEntries(scene.joints.map((j) => [j.name, j.start])));
    this.home = this.places();
    this.enter(scene.modes.length ? scene.modes[0].name : null);
  }

  addJoint(joint) {
    const placed = place(this.at(joint.parent, joint.tip), new THREE.Group(), matrixOf(joint.matrix));
    const moved = place(placed, new THREE.Group());
    this.links[joint.child] = moved;
    const vector = new THREE.Vector3(...joint.axis);
    const rail = joint.type === "prismatic" && !this.look.ghost ? place(placed, new THREE.Line(
      new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), vector]), new THREE.LineBasicMaterial({ color: PRESENT })), null, "solid") : null;
    this.joints[joint.name] = { ...joint, placed, moved, vector, rail };
    const body = this.bodies[joint.child];
    if (body && body.beam) this.tips[joint.child] = place(moved, new THREE.Group());
  }

  // The group of a link. If `tip`: the group at the end of a flexible link.
  at(link, tip) { return (tip && this.tips[link]) || this.links[link]; }

  dress(link) {
    const group = this.links[link.name], { look } = this;
    for (const mesh of link.meshes) {
      mesh.geometry ||= meshGeometry(mesh);  // all copies of the arm share it
      this.put(group, mesh.geometry, look.material(mesh.colour), matrixOf(mesh.matrix));
    }
    for (const rod of link.rods) {
      const geometry = new THREE.CapsuleGeometry(link.radius, Math.max(rod.length, 1e-9), 6, 16);
      this.put(group, geometry, look.material(link.colour), matrixOf(rod.matrix));
    }
    if (link.beam) this.beams[link.name] = this.put(group, beamGeometry(link), look.material(link.colour), null);
    if (look.ghost) return;
    for (const [kind, made] of Object.entries(marks(link))) {
      made.userData.kind = kind;
      made.visible = false;
      group.add(made);
    }
  }

  put(group, geometry, material, matrix) {
    const solid = place(group, new THREE.Mesh(geometry, material), matrix, "solid");
    solid.userData.colour = material.color.clone();
    this.solids.push(solid);
    return solid;
  }

  carry(load) {
    const ball = new THREE.Mesh(new THREE.SphereGeometry(load.radius, 20, 14), this.look.material("#6e7781"));
    const here = this.loads[load.name] = place(this.at(load.link, load.tip), new THREE.Group());
    this.solids.push(ball);
    place(here, ball, new THREE.Matrix4().makeTranslation(...load.com), "payloads");
  }

  // Switch to a mode: it has its own loops, payloads, passive joints and the link that it stands on.
  enter(name) {
    this.mode = this.scene.modes.find((mode) => mode.name === name) || null;
    for (const [load, here] of Object.entries(this.loads)) here.visible = !this.mode || this.mode.payloads.includes(load);
    this.pose({});
  }

  get loops() { return this.scene.loops.filter((loop) => !this.mode || this.mode.loops.includes(loop.name)); }

  get passive() {
    return this.scene.joints.filter((j) => j.moving && !j.mimic && (!j.actuated || (this.mode && this.mode.passive.includes(j.name)))).map((j) => j.name);
  }

  // Set positions by joint name, rad or m, and move the joints that mimic these. The other joints stay.
  pose(q) {
    for (const [name, value] of Object.entries({ ...q, ...this.followers(q) })) {
      const joint = this.joints[name];
      if (!joint || value === null) continue;
      this.q[name] = value;
      if (joint.type === "prismatic") joint.moved.matrix.makeTranslation(...joint.axis.map((a) => a * value));
      else joint.moved.matrix.makeRotationAxis(joint.vector, value);
      if (joint.rail) joint.rail.matrix.makeScale(value, value, value);  // from the joint's zero to its position
      joint.moved.matrixWorldNeedsUpdate = true;
    }
    this.root.updateMatrixWorld(true);
    this.stand();
  }

  followers(q) {
    const led = this.scene.joints.filter((j) => j.mimic && Number.isFinite(q[j.mimic.joint]));
    return Object.fromEntries(led.map((j) => [j.name, j.mimic.ratio * q[j.mimic.joint] + j.mimic.offset]));
  }

  // The link on which the mode stands stays where it was at the start.
  stand() {
    const foot = this.mode && this.mode.root !== "base" ? this.mode.root : null;
    if (!foot && !this.stood) return;
    this.stood = foot;
    if (foot) this.root.matrix.multiplyMatrices(matrixOf(this.home[foot]), matrixOf(this.places()[foot]).invert());
    else this.root.matrix.identity();
    this.root.updateMatrixWorld(true);
  }

  // Draw fewer triangles, or all.
  thin(thinner) {
    for (const solid of this.solids) {
      const fine = solid.userData.fine ||= solid.geometry;
      if (fine.userData.thinned === undefined) fine.userData.thinned = thinned(fine);
      solid.geometry = (thinner && fine.userData.thinned) || fine;
    }
  }

  // Bend a flexible link: deflection (m) and slope of its tip, in y and in z, as drawn.
  bend(name, [y, sy, z, sz]) {
    this.bent[name] = Math.hypot(y, z);
    const L = this.bodies[name].beam, beam = this.beams[name], points = beam.geometry.getAttribute("position"), { straight } = beam.geometry.userData;
    for (let i = 0; i < points.count; i++) {
      const x = straight[3 * i], s = Math.min(Math.max(x / L, 0), 1), a = s * s * (3 - 2 * s), b = L * s * s * (s - 1);
      points.setXYZ(i, x, straight[3 * i + 1] + a * y + b * sy, straight[3 * i + 2] + a * z + b * sz);
    }
    points.needsUpdate = true;
    beam.geometry.computeBoundingSphere();
    const tip = this.tips[name].matrix.makeRotationZ(sy).multiply(new THREE.Matrix4().makeRotationY(-sz));
    tip.premultiply(new THREE.Matrix4().makeTranslation(L, y, z)).multiply(new THREE.Matrix4().makeTranslation(-L, 0, 0));
    this.root.updateMatrixWorld(true);
  }

  // Matrices of the links in the frame of the base, 16 numbers each, column after column.
  places() {
    this.root.updateMatrixWorld(true);
    const back = new THREE.Matrix4().copy(this.root.matrixWorld).invert();
    return Object.fromEntries(Object.entries(this.links).map(([name, link]) =>
      [name, new THREE.Matrix4().multiplyMatrices(back, link.matrixWorld).toArray()]));
  }

  // Close the loops by moving the passive joints (Gauss-Newton). Returns the gap that remains, m and rad.
  close() {
    const free = this.passive;
    if (!this.loops.length || !free.length) return 0;
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
    for (const loop of this.loops) {
      const [A, B] = [loop.a, loop.b].map((end) =>
        new THREE.Matrix4().multiplyMatrices(this.at(end.link, end.tip).matrixWorld, matrixOf(end.matrix)));
      const apart = new THREE.Matrix4().copy(A).invert().multiply(B).elements;  // the frame of b in that of a
      const place = [apart[12], apart[13], apart[14]];
      found.push(...(loop.type === "planar" ? place.slice(0, 2) : place));
      if (loop.type === "revolute") found.push(apart[8], apart[9]);
      if (loop.type === "rigid") found.push((apart[6] - apart[9]) / 2, (apart[8] - apart[2]) / 2, (apart[1] - apart[4]) / 2);
    }
    return found;
  }
}

// The x that minimises |J x - r|. J is a list of columns. Normal equations, slightly damped.
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
  const [points, faces] = creased(new Float32Array(bytes(mesh.vertices)), new Uint32Array(bytes(mesh.faces)));
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  geometry.setIndex(faces);
  geometry.computeVertexNormals();
  return geometry;
}

const CREASE = Math.cos(Math.PI / 6);  // where two triangles meet at a larger angle, there is an edge

// Gives each side of an edge its own corners, so that shading does not round the edge. Returns corners and faces.
function creased(points, faces) {
  const corner = (i, k) => points[3 * faces[i] + k], made = [], sides = new Map(), out = [];
  for (let f = 0; f < faces.length; f += 3) {
    const [u, v] = [1, 2].map((n) => [0, 1, 2].map((k) => corner(f + n, k) - corner(f, k)));
    const normal = [0, 1, 2].map((k) => u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]);
    const size = Math.hypot(...normal) || 1;
    for (let n = 0; n < 3; n++) {
      const of = sides.get(faces[f + n]) || sides.set(faces[f + n], []).get(faces[f + n]);
      let side = of.find((one) => one.normal[0] * normal[0] + one.normal[1] * normal[1] + one.normal[2] * normal[2] > CREASE * size);
      if (!side) {
        of.push(side = { normal: normal.map((x) => x / size), index: made.length / 3 });
        made.push(...[0, 1, 2].map((k) => corner(f + n, k)));
      }
      out.push(side.index);
    }
  }
  return [made, out];
}

const CELLS = 8;  // of the grid that thins a mesh, along its longest side
const FEW = 300;  // meshes with fewer triangles are not thinned

// About the same shape with fewer triangles: all corners in a cell of a grid become one. null for small meshes and flexible links.
function thinned(geometry) {
  const { index } = geometry, points = geometry.getAttribute("position").array;
  if (!index || index.count < 3 * FEW || geometry.userData.straight) return null;
  geometry.computeBoundingBox();
  const { min, max } = geometry.boundingBox, cell = Math.max(max.x - min.x, max.y - min.y, max.z - min.z) / CELLS;
  const cells = new Map(), sums = [], of = new Uint32Array(points.length / 3), faces = [];
  for (let i = 0; i < of.length; i++) {
    const key = [0, 1, 2].map((k) => Math.floor((points[3 * i + k] - min.getComponent(k)) / cell)).join();
    if (!cells.has(key)) cells.set(key, sums.push([0, 0, 0, 0]) - 1);
    const sum = sums[of[i] = cells.get(key)];
    for (let k = 0; k < 3; k++) sum[k] += points[3 * i + k];
    sum[3]++;
  }
  for (let i = 0; i < index.count; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => of[index.array[i + k]]);
    if (a !== b && b !== c && c !== a) faces.push(a, b, c);
  }
  const made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.Float32BufferAttribute(sums.flatMap(([x, y, z, n]) => [x / n, y / n, z / n]), 3));
  made.setIndex(faces);
  made.computeVertexNormals();
  return made;
}

// What a link can show besides its solids: frame, centre of gravity and ellipsoid of inertia.
function marks(link) {
  const made = {};
  made.frames = new THREE.AxesHelper(4 * link.radius);
  if (!link.mass) return made;
  const centre = new THREE.Mesh(new THREE.SphereGeometry(0.9 * link.radius, 16, 12), new THREE.MeshBasicMaterial({ color: 0xd9822b }));
  centre.material.depthTest = false;
  centre.renderOrder = 2;
  centre.position.set(...link.com);
  made.centres = centre;
  const round = new THREE.Mesh(new THREE.SphereGeometry(1, 24, 16), lit({
    color: 0x8a63b8, transparent: true, opacity: 0.35, depthWrite: false }));
  round.matrixAutoUpdate = false;
  round.matrix.fromArray(link.ellipsoid);
  made.inertias = round;
  return made;
}

// A beam along x, divided into pieces so that it can bend.
function beamGeometry(link) {
  const geometry = new THREE.CylinderGeometry(0.7 * link.radius, 0.7 * link.radius, link.beam, 12, 24);
  geometry.rotateZ(-Math.PI / 2).translate(link.beam / 2, 0, 0);
  geometry.userData.straight = geometry.getAttribute("position").array.slice();
  return geometry;
}

const RANGE = 0x2f8f5b, PRESENT = 0x6b7683, BEYOND = 0xc2362b;
const SAME = 1e-3;  // rad or m: copies of the arm that differ less look like one
const SLACK = 1e-6;  // rad or m: a joint counts as within its range up to this far beyond

// The range of a joint: a band round or along its axis, and a needle at its position. Endless joints have none.
class Range {
  constructor(joint, radius) {
    this.joint = joint;
    const axis = joint.vector, toward = new THREE.Vector3(...joint.toward), side = new THREE.Vector3().crossVectors(axis, toward);
    const { lower, upper } = joint, slides = joint.type === "prismatic";
    const at = (x, out) => slides ? axis.clone().multiplyScalar(x).addScaledVector(side, out)
      : toward.clone().multiplyScalar(out * Math.cos(x)).addScaledVector(side, out * Math.sin(x));
    const [near, far] = slides ? [1.6 * radius, 2.1 * radius] : [4.2 * radius, 5 * radius];
    const pieces = slides ? 1 : Math.max(2, Math.ceil(Math.min(upper - lower, 2 * Math.PI) / 0.12)), points = [], faces = [];
    for (let i = 0; i <= pieces; i++) {
      const x = lower + (upper - lower) * i / pieces;
      points.push(...at(x, near).toArray(), ...at(x, far).toArray());
      if (i) faces.push(2 * i - 2, 2 * i - 1, 2 * i, 2 * i, 2 * i - 1, 2 * i + 1);
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
    geometry.setIndex(faces);
    this.band = place(joint.placed, new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({
      color: RANGE, side: THREE.DoubleSide, transparent: true, opacity: 0.55, depthWrite: false })), null, "limits");
    const needle = new THREE.BufferGeometry().setFromPoints([at(0, 0.9 * near), at(0, 1.15 * far)]);
    this.needle = place(joint.moved, new THREE.Line(needle, new THREE.LineBasicMaterial({ color: PRESENT })), null, "limits");
  }

  show(q) {
    const beyond = q < this.joint.lower - SLACK || q > this.joint.upper + SLACK;
    this.band.material.color.set(beyond ? BEYOND : RANGE);
  }
}

// A dull material under sky and sun. Light is calculated at the corners of triangles. Without a graphics card this is faster
// than at every pixel.
function lit(given) {
  const material = new THREE.MeshBasicMaterial(given);
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = `
      uniform vec3 diffuse;
      varying vec3 shade;
      const vec3 sun = 0.573 * normalize(vec3(2.0, 4.0, 3.0)), sky = vec3(0.7), ground = vec3(0.173, 0.22, 0.281);
      void main() {
        vec3 n = normalize((normalMatrix * normal) * mat3(viewMatrix));  // in the frame of the world
        vec3 light = mix(ground, sky, 0.5 * n.y + 0.5) + max(dot(n, sun), 0.0);
        shade = 1.055 * pow(min(diffuse * light, vec3(1.0)), vec3(1.0 / 2.4)) - 0.055;  // sRGB
        gl_Position = projectionMatrix * (modelViewMatrix * vec4(position, 1.0));
      }`;
    shader.fragmentShader = `
      uniform float opacity;
      varying vec3 shade;
      void main() { gl_FragColor = vec4(max(shade, vec3(0.0)), opacity); }`;
  };
  return material;
}

const LOOKS = {
  solid: { material: (colour) => lit({ color: colour }) },
  ghost: { ghost: true, material: () => ghostly(0x7b8794) },  // the desired arm
  true: { ghost: true, material: () => ghostly(0x56b4e9) },  // the true pose of a simulated arm
};
// Drawn behind a solid at the same place: it is seen only where the two differ.
const ghostly = (color) => lit({ color, transparent: true, opacity: 0.35, depthWrite: false,
  polygonOffset: true, polygonOffsetFactor: 3, polygonOffsetUnits: 12 });

// The colour for a share of the torque's limit: grey, yellow, orange, dark red. Each is darker than the one before.
const SHARES = [[0, "#c3cad2"], [0.5, "#e6a019"], [0.8, "#d5571a"], [1, "#8c1127"]].map(([at, colour]) => [at, new THREE.Color(colour)]);
function tone(share) {
  const x = Math.min(Math.abs(share), 1), k = SHARES.findIndex(([at]) => at >= x), [b, above] = SHARES[k];
  if (!k) return above.clone();
  const [a, below] = SHARES[k - 1];
  return below.clone().lerp(above, (x - a) / (b - a));
}

// Whether this browser draws without a graphics card. Smooth edges are too slow there.
function softly() {
  const context = document.createElement("canvas").getContext("webgl2"), who = context && context.getExtension("WEBGL_debug_renderer_info");
  const name = who ? context.getParameter(who.UNMASKED_RENDERER_WEBGL) : "";
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

const GRAVITY = 9.81;
const [SHORTEST, LONGEST] = [0.15, 1.5];  // length of an arrow, in halves of the arm's reach
const MUCH = 0.2;  // share of a joint's torque: from here on, the push against the joint is shown
const TOUCH = 0xb04fd0;

// An arrow of length 1 along y, with its tip at the origin. Nothing hides it.
function arrow(radius) {
  const made = new THREE.Group(), material = new THREE.MeshBasicMaterial({ color: TOUCH, depthTest: false, transparent: true, opacity: 0.9 });
  made.shaft = new THREE.Mesh(new THREE.CylinderGeometry(0.35 * radius, 0.35 * radius, 1, 12), material);
  made.head = new THREE.Mesh(new THREE.CylinderGeometry(0, 0.95 * radius, 2.4 * radius, 16), material);
  made.head.position.y = -1.2 * radius;
  made.add(made.shaft, made.head);
  for (const part of made.children) part.renderOrder = 4;
  made.neck = 2.4 * radius;
  return made;
}

function aim(made, point, direction, length) {
  const shaft = Math.max(length - made.neck, 1e-6);
  made.position.copy(point);
  made.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), direction);
  made.shaft.scale.y = shaft;
  made.shaft.position.y = -made.neck - shaft / 2;
}

// An arrow at a joint: round z, or along z if the joint slides.
function pushed(joint, radius) {
  const made = new THREE.Group(), material = new THREE.MeshBasicMaterial({ color: TOUCH, depthTest: false, transparent: true, opacity: 0.9 });
  const far = 5 * radius, add = (geometry) => made.add(new THREE.Mesh(geometry, material)), head = new THREE.CylinderGeometry(0, radius, 2.4 * radius, 16);
  if (joint.type === "prismatic") {
    add(new THREE.CylinderGeometry(0.35 * radius, 0.35 * radius, 2 * far, 12).rotateX(Math.PI / 2));
    add(head.rotateX(Math.PI / 2).translate(0, 0, far));
  } else {
    const pieces = 10, step = 1.5 * Math.PI / pieces;
    for (let k = 0; k < pieces; k++) {
      const rod = new THREE.CylinderGeometry(0.3 * radius, 0.3 * radius, far * step, 8);
      add(rod.translate(far, 0, 0).rotateZ((k + 0.5) * step));
    }
    add(head.translate(far, 0, 0).rotateZ(1.5 * Math.PI));
  }
  for (const part of made.children) part.renderOrder = 4;
  joint.placed.add(made);
  return made;
}

const OPENING = 0.7;  // field of view of the camera, rad

class View {
  constructor(holder, scene) {
    this.data = scene;
    this.world = new THREE.Scene();
    this.up = new THREE.Group();  // turns up in the mechanism (z, or against gravity) into y
    this.up.quaternion.setFromUnitVectors(new THREE.Vector3(...scene.up), new THREE.Vector3(0, 1, 0));
    this.world.add(this.up);
    this.arm = new Arm(scene, LOOKS.solid);
    this.up.add(this.arm.root);
    this.arm.close();
    this.gaps = scene.loops.map((loop) => this.line(0xc2362b, loop));
    this.ranges = Object.values(this.arm.joints).filter((j) => j.moving && j.lower !== null && j.upper !== null)
      .map((j) => new Range(j, scene.links[0].radius));
    this.world.add(this.grid = this.floor(holder));
    this.others = {};
    this.marked = [];
    this.things = Object.fromEntries((scene.things || []).map((thing) => [thing.name, this.stand(thing)]));
    this.contacts = [];  // arrows; those that no contact needs now are hidden
    this.pushes = {};
    this.weight = GRAVITY * Math.max(scene.links.reduce((sum, link) => sum + link.mass, 0), 1e-3);
    this.hidden = new Set();
    this.camera = new THREE.PerspectiveCamera(OPENING * 180 / Math.PI, 1, 0.01 * scene.size, 50 * scene.size);
    this.frames = 0;
    this.scale = 1;
    this.thinner = false;
    try {
      this.renderer = new THREE.WebGLRenderer({ antialias: !softly(), alpha: true });
    } catch {
      holder.textContent = "This browser shows no 3-D here (no WebGL); the numbers beside are whole.";
      return;
    }
    this.holder = holder;
    holder.appendChild(this.renderer.domElement);
    holder.addEventListener("keydown", (event) => this.key(event));
    this.controls = new THREE.OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", () => this.draw());
    this.controls.addEventListener("start", () => { this.touched = true; });  // from then on the view moves only by hand
    new ResizeObserver(() => this.resize()).observe(holder);
    this.resize();
  }

  // Set the sharpness (1: each pixel of the screen) and whether to draw fewer triangles. Less of either is faster.
  sharpness(scale, thinner) {
    if (!this.renderer) return;
    if (thinner !== this.thinner) for (const arm of [this.arm, ...Object.values(this.others)]) arm.thin(thinner);
    this.thinner = thinner;
    if (scale === this.scale) return;
    this.scale = scale;
    this.resize();
  }

  // Arrow keys turn the view, plus and minus zoom, Home shows the whole arm.
  key(event) {
    const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    const nearer = { "+": 0.9, "=": 0.9, "-": 1 / 0.9 }[event.key];
    if (!turns && !nearer && event.key !== "Home") return;
    event.preventDefault();
    this.touched = event.key !== "Home";
    if (!this.touched) return this.home();
    const from = new THREE.Vector3().subVectors(this.camera.position, this.controls.target), far = from.length() * (nearer || 1);
    const [round, down] = turns || [0, 0], around = Math.atan2(from.x, from.z) + round;
    const polar = Math.min(Math.max(Math.acos(from.y / from.length()) + down, 0.05), Math.PI - 0.05);
    from.set(Math.sin(polar) * Math.sin(around), Math.cos(polar), Math.sin(polar) * Math.cos(around)).multiplyScalar(far);
    this.camera.position.copy(this.controls.target).add(from);
    this.controls.update();
  }

  // The corners of the boxes round the solids of the arm and the ranges of its joints, where it is now, and of things
  // that it may push away.
  corners() {
    const found = [], pushable = (this.data.things || []).filter((thing) => thing.moves).map((thing) => this.things?.[thing.name]);
    this.up.updateMatrixWorld(true);
    for (const solid of [...this.arm.solids, ...this.ranges.map((range) => range.band), ...pushable.filter(Boolean)]) {
      if (!solid.geometry.boundingBox) solid.geometry.computeBoundingBox();
      const { min, max } = solid.geometry.boundingBox;
      for (const x of [min.x, max.x]) for (const y of [min.y, max.y]) for (const z of [min.z, max.z]) found.push(new THREE.Vector3(x, y, z).applyMatrix4(solid.matrixWorld));
    }
    return found;
  }

  // Keep all that the arm has reached in view.
  follow() {
    const corners = this.corners(), seen = this.seen || new THREE.Box3(), size = () => seen.isEmpty() ? 0 : seen.getSize(new THREE.Vector3()).length();
    const before = size();
    for (const corner of corners) seen.expandByPoint(corner);
    if (size() < 1.02 * before) return;
    this.seen = seen;
    this.reach = [...(this.reach || []), ...corners];
    if (!this.touched) this.home();
  }

  // Show the whole arm, or all that a motion reaches (`reach`), as large as it fits.
  home() {
    if (!this.controls) return;
    const points = this.reach || this.corners(), box = new THREE.Box3().setFromPoints(points);
    if (box.isEmpty()) box.setFromCenterAndSize(new THREE.Vector3(), new THREE.Vector3(1, 1, 1).multiplyScalar(this.data.size));
    const middle = box.getCenter(new THREE.Vector3()), away = new THREE.Vector3(0.55, 0.5, 0.72).normalize();
    const right = new THREE.Vector3(away.z, 0, -away.x).normalize(), up = new THREE.Vector3().crossVectors(away, right);
    const tall = Math.tan(OPENING / 2), wide = tall * this.camera.aspect;
    let far = 0.3 * this.data.size;
    for (let round = 0; round < 6; round++) {  // in perspective the middle depends on the distance
      const seen = points.map((point) => point.clone().sub(middle)).map((p) => [p.dot(right), p.dot(up), p.dot(away)]);
      far = Math.max(0.3 * this.data.size, ...seen.map(([x, y, z]) => z + 1.12 * Math.max(Math.abs(x) / wide, Math.abs(y) / tall)));
      const centre = (k) => [Math.min, Math.max].map((of) => of(...seen.map((p) => p[k] / (far - p[2])))).reduce((a, b) => a + b) / 2;
      middle.addScaledVector(right, far * centre(0)).addScaledVector(up, far * centre(1));
    }
    this.camera.position.copy(middle).addScaledVector(away, far);
    this.controls.target.copy(middle);
    this.controls.update();
    this.draw();
  }

  // A grid of a round cell size below the arm's start pose. Its lines are short, because some renderers clip long ones badly.
  floor(holder) {
    this.up.updateMatrixWorld(true);
    const corners = this.corners(), reach = Math.max(0.5 * this.data.size, ...corners.map((p) => Math.hypot(p.x, p.z)));
    const power = 10 ** Math.floor(Math.log10(reach / 3)), cell = power * [5, 2, 1].find((n) => n * power <= reach / 3);
    const half = Math.min(Math.ceil(3 * reach / cell), 40), points = [];
    for (let i = -half; i <= half; i++) for (let k = -half; k < half; k++) points.push(i, 0, k, i, 0, k + 1, k, 0, i, k + 1, 0, i);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(points.map((x) => x * cell), 3));
    const grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: 0x8894a0, transparent: true, opacity: 0.3 }));
    grid.position.y = -Math.max(0, ...corners.map((corner) => -corner.y));
    const told = document.createElement("span");
    told.textContent = `grid: ${Number(cell.toPrecision(1))} m`;
    told.className = "grid";
    holder.appendChild(told);
    return grid;
  }

  line(colour, loop) {
    const line = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: colour }));
    line.frustumCulled = false;
    this.world.add(line);
    return { loop, line };
  }

  // Draw a path and points on it, both in the frame of the base.
  way(path, points) {
    const there = path.map((p) => new THREE.Vector3(...p));
    this.up.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(there), new THREE.LineBasicMaterial({ color: 0x1b6ec2 })));
    for (const point of points) {
      const dot = new THREE.Mesh(new THREE.SphereGeometry(0.012 * this.data.size, 12, 8), new THREE.MeshBasicMaterial({ color: 0x1b6ec2 }));
      dot.position.set(...point);
      this.up.add(dot);
    }
  }

  resize() {
    const width = Math.max(this.holder.clientWidth, 1), height = Math.max(this.holder.clientHeight, 1);
    this.renderer.setPixelRatio(this.scale * Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.touched) this.draw(); else this.home();
  }

  show(kind, shown) {
    if (shown) this.hidden.delete(kind); else this.hidden.add(kind);
    this.arm.root.traverse((thing) => { if (thing.userData.kind === kind) thing.visible = shown; });
    this.draw();
  }

  // Another copy of the mechanism: "ghost" is the desired pose, "true" the true pose of a simulated arm.
  other(look) {
    if (!this.others[look]) {
      const made = this.others[look] = new Arm(this.data, LOOKS[look]);
      if (this.arm.mode) made.enter(this.arm.mode.name);
      made.thin(this.thinner);
      this.up.add(made.root);
    }
    return this.others[look];
  }

  enter(mode) { for (const arm of [this.arm, ...Object.values(this.others)]) arm.enter(mode); }

  // Draw another copy only where it differs from the arm: otherwise nothing of it could be seen.
  apart(look) {
    const { q, bent } = this.other(look), away = Object.entries(q).some(([name, x]) => Math.abs(x - this.arm.q[name]) > SAME)
      || Object.entries(bent).some(([name, x]) => Math.abs(x - (this.arm.bent[name] ?? 0)) > SAME);
    this.others[look].root.visible = away && !this.hidden.has(look);
  }

  // Torques by joint name, as shares of their limits. The link that a joint drives takes the colour; null: the link's own colour.
  colour(shares) {
    for (const [name, share] of Object.entries(shares)) {
      for (const child of this.arm.joints[name].moved.children) {
        if (child.userData.kind === "solid") child.material.color.copy(share === null ? child.userData.colour : tone(share));
      }
    }
  }

  // Mark the joints, by name, at which something is wrong.
  mark(names) {
    if (names.join() === this.marked.map((mark) => mark.name).join()) return;
    for (const { ball } of this.marked) ball.removeFromParent();
    this.marked = names.filter((name) => this.arm.joints[name]).map((name) => {
      const ball = new THREE.Mesh(new THREE.SphereGeometry(2.6 * this.data.links[0].radius, 20, 14), new THREE.MeshBasicMaterial({
        color: 0xd1242f, transparent: true, opacity: 0.7, depthTest: false }));
      ball.renderOrder = 3;
      this.arm.joints[name].placed.add(ball);
      return { name, ball };
    });
  }

  // Add a thing that stands around the arm, at its first place.
  stand(thing) {
    const solid = new THREE.Mesh(meshGeometry(thing), lit({ color: thing.colour, side: THREE.DoubleSide }));
    solid.position.set(...thing.place.slice(0, 3));
    solid.quaternion.set(...thing.place.slice(3));
    this.up.add(solid);
    return solid;
  }

  // Set places of things that moved, and forces on links. An arrow ends at the contact. For the arm's weight it is half the arm's reach long.
  around({ places, contacts }) {
    for (const [name, place] of Object.entries(places)) {
      this.things[name]?.position.set(...place.slice(0, 3));
      this.things[name]?.quaternion.set(...place.slice(3));
    }
    while (this.contacts.length < contacts.length) {
      this.contacts.push(arrow(this.data.links[0].radius));
      this.up.add(this.contacts[this.contacts.length - 1]);
    }
    this.contacts.forEach((one, k) => {
      one.visible = k < contacts.length;
      if (!one.visible) return;
      const [, , ...numbers] = contacts[k], force = new THREE.Vector3(...numbers.slice(3));
      const length = Math.min(Math.max(force.length() / this.weight, SHORTEST), LONGEST) * this.data.size;
      aim(one, new THREE.Vector3(...numbers.slice(0, 3)), force.normalize(), length);
    });
  }

  // Unforeseen torques or forces against joints, by name, as shares of their limits. A joint with a large one gets an arrow
  // round or along its axis. Returns these joints.
  push(shares) {
    const much = Object.entries(shares).filter(([, share]) => share !== null && Math.abs(share) > MUCH);
    for (const [name, made] of Object.entries(this.pushes)) made.visible = much.some(([one]) => one === name);
    for (const [name, share] of much) {
      const made = this.pushes[name] ||= pushed(this.arm.joints[name], this.data.links[0].radius);
      made.visible = true;
      made.scale.setScalar(1 + 0.5 * Math.min(Math.abs(share), 1));
      made.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.arm.joints[name].vector.clone().multiplyScalar(Math.sign(share)));
    }
    return much.map(([name]) => name);
  }

  draw() {
    for (const { loop, line } of this.gaps) {
      const ends = [loop.a, loop.b].map((end) => new THREE.Vector3(end.matrix[12], end.matrix[13], end.matrix[14])
        .applyMatrix4(this.arm.at(end.link, end.tip).matrixWorld));  // of length 0 if the loop is closed
      line.geometry.setFromPoints(ends);
      line.visible = this.arm.loops.includes(loop);
    }
    for (const look of Object.keys(this.others)) this.apart(look);
    for (const range of this.ranges) range.show(this.arm.q[range.joint.name]);
    if (this.renderer) this.renderer.render(this.world, this.camera);
    this.frames++;
  }
}
