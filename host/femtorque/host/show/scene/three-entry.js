export {
  AxesHelper, Box3, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, CylinderGeometry, DoubleSide,
  Float32BufferAttribute, Group, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial,
  PerspectiveCamera, Scene, SphereGeometry, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
