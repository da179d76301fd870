export {
  AmbientLight, ArrowHelper, AxesHelper, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, DirectionalLight,
  CylinderGeometry, EdgesGeometry, GridHelper, Group, HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshStandardMaterial,
  Object3D, PerspectiveCamera, Quaternion, Scene, SphereGeometry, Vector3, WebGLRenderer, Box3, Float32BufferAttribute, MeshBasicMaterial, DoubleSide, TorusGeometry,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
