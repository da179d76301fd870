"""ROS 2's message definitions in MCAP's form: a message, then all its parts."""

_LINE = "=" * 80
_FIELDS = {
    "visualization_msgs/Marker": (
        "int32 ARROW=0; int32 CUBE=1; int32 SPHERE=2; int32 CYLINDER=3; int32 LINE_STRIP=4; int32 LINE_LIST=5; int32 "
        "CUBE_LIST=6; int32 SPHERE_LIST=7; int32 POINTS=8; int32 TEXT_VIEW_FACING=9; int32 MESH_RESOURCE=10; int32 "
        "TRIANGLE_LIST=11; int32 ADD=0; int32 MODIFY=0; int32 DELETE=2; int32 DELETEALL=3; std_msgs/Header header; "
        "string ns; int32 id; int32 type; int32 action; geometry_msgs/Pose pose; geometry_msgs/Vector3 scale; "
        "std_msgs/ColorRGBA color; builtin_interfaces/Duration lifetime; bool frame_locked; geometry_msgs/Point[] "
        "points; std_msgs/ColorRGBA[] colors; string texture_resource; sensor_msgs/CompressedImage texture; "
        "visualization_msgs/UVCoordinate[] uv_coordinates; string text; string mesh_resource; "
        "visualization_msgs/MeshFile mesh_file; bool mesh_use_embedded_materials"),
    "std_msgs/Header": "builtin_interfaces/Time stamp; string frame_id",
    "builtin_interfaces/Time": "int32 sec; uint32 nanosec",
    "builtin_interfaces/Duration": "int32 sec; uint32 nanosec",
    "geometry_msgs/Pose": "geometry_msgs/Point position; geometry_msgs/Quaternion orientation",
    "geometry_msgs/Point": "float64 x; float64 y; float64 z",
    "geometry_msgs/Quaternion": "float64 x; float64 y; float64 z; float64 w",
    "geometry_msgs/Vector3": "float64 x; float64 y; float64 z",
    "std_msgs/ColorRGBA": "float32 r; float32 g; float32 b; float32 a",
    "sensor_msgs/CompressedImage": "std_msgs/Header header; string format; uint8[] data",
    "visualization_msgs/UVCoordinate": "float32 u; float32 v",
    "visualization_msgs/MeshFile": "string filename; uint8[] data",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header; string child_frame_id; geometry_msgs/Transform transform"),
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation; geometry_msgs/Quaternion rotation",
}


def definition(message: str, *parts: str) -> str:
    """Return a message's definition. parts: names of its parts, in order."""
    return "".join([message, *(f"{_LINE}\nMSG: {name}\n" + _FIELDS[name].replace("; ", "\n") + "\n" for name in parts)])
