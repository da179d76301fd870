"""Code that the steps of all trees share: rotating frames, vectors of expressions in them, positions of prismatic
joints. base_parameters.py computes the frames and inertial parameters. Joints with parallel axes share one frame, which
does not rotate with these joints. The frame of a body is the shared frame, rotated about z. The body's cosine and sine
give the angle."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from femtorque.codegen.common import sin_cos
from femtorque.codegen.model import GROUND, Model, joint_stiffness
from femtorque.codegen.step.base_parameters import ReducedBody, Tree
from femtorque.codegen.step.graph import Expr, Function, Graph, Number, Place, Result
from femtorque.codegen.step.spatial_algebra import Pair, Vec3

Members = Sequence[tuple[int, int]]  # (joint, sign)

EXACT_BELOW_HZ = 400  # rate below which the leapfrog's error would matter: half of the square of half a tick's rotation
DIGITS = 14  # digits of constants that are sums of products of the file's numbers


class FrameStep(ABC):
    """The graph of one step of a tree, in which the cosine and sine of every frame rotate with the frame. turn: the C
    function that rotates a cosine and sine by an angle and returns the values before the rotation. increment: the input
    with half of a joint's displacement in the tick. In closed mechanisms this displacement includes corrections of
    positions, unlike u."""

    turn = Function("ft_turn_on", "ft_pair", ("c", "s"), cost=11)
    carry = Function("ft_carry", "void", cost=4)

    def __init__(self, model: Model, tree: Tree, shared: Sequence[Members] = ()) -> None:
        """Build the graph. shared: angles as sums of signed joints, whose cosines and sines are the inputs r[0], ..."""
        self.model, self.tree, self.length = model, tree, tree.length
        self.shared = [dict(members) for members in shared]
        self.graph = Graph()
        self.increment = "w" if model.mechanism.constrained else "u"
        self.pairs: dict[int, Pair] = {}
        self.outward_block: dict[int, int] = {}

    # ---- the walk over the tree
    def _walk(self) -> None:
        """Process one branch after another outwards to its tips and back, because branches are independent."""
        for b in self.tree.bodies:
            if b.parent == GROUND:
                self._branch(b.joint)

    def _branch(self, j: int) -> None:
        self._outwards(j)
        for c in self.tree.bodies[j].children:
            self._branch(c)
        self._inwards(j)

    @abstractmethod
    def _outwards(self, j: int) -> None:
        """Bind names to the values that body j gets from its parent."""

    @abstractmethod
    def _inwards(self, j: int) -> None:
        """Bind names to the torque of joint j, and to the values that the parent gets from body j."""

    # ---- frames
    def _zero(self) -> Vec3:
        return Vec3.zero(self.graph)

    def _slide(self, j: int) -> Vec3:
        """Return the position of a prismatic joint along its z, m."""
        zero = self.graph.const(0.0)
        return Vec3(zero, zero, self._position(j))

    def _back(self, j: int, v: Vec3) -> Vec3:
        """Return a vector of the body's frame, expressed in the joint's frame."""
        return v if v.is_along_z else v.turn_back(self._pair(j))

    def _pair(self, j: int) -> Pair:
        """Return cosine and sine of theta_j. The frame rotates by the sum of its members' increments."""
        if j not in self.pairs:
            if found := self._shared(j):
                self.pairs[j] = found
                return found
            back = self.graph.enter(self.outward_block[j])
            w = self._turn_half(j)
            c, s = self.graph.call(self.turn, f"r{j + 1}", Place("turn", j), w)
            self.pairs[j] = (c, s)
            self.graph.enter(back)
        return self.pairs[j]

    def _turn_half(self, j: int) -> Expr:
        """Return half of the rotation of joint j's frame in the tick after s_k."""
        w: Number = 0.0
        for i in self.tree.members(j):
            w = self.graph.input(self.increment, i) * self.tree.bodies[i].sign + w
        assert isinstance(w, Expr)
        return self.graph.bind(w, f"turn{j + 1}_half")

    def _shared(self, j: int) -> Pair | None:
        """Return the cosine and sine of a shared angle, rotated by the constant angle between the two frames.

        Return None if no shared angle belongs to this frame."""
        b = self.tree.bodies[j]
        members = {i: int(self.tree.bodies[i].sign) for i in self.tree.members(j)}
        for k, angle in enumerate(self.shared):
            for direction in (1, -1):
                if angle == {i: direction * sign for i, sign in members.items()}:
                    back = self.graph.enter(self.outward_block[j])
                    x, y = self.graph.input("r", k, "c"), self.graph.input("r", k, "s") * direction
                    c, s = (tidy(x) for x in reversed(sin_cos(b.turn)))
                    pair = self.graph.bind(c * x - s * y, f"r{j + 1}_c"), self.graph.bind(s * x + c * y, f"r{j + 1}_s")
                    self.graph.enter(back)
                    return pair
        return None

    def _position(self, j: int) -> Expr:
        """Return the position of joint j at s_k, rad or m."""
        w = self.graph.input(self.increment, j)
        return self.graph.bind(self.graph.input("q", j) - (w + w), f"q{j + 1}")

    # ---- torques
    def _carry(self, j: int, what: str, now: Vec3) -> Vec3:
        """Return three numbers of the state, updated by {P} <- {P} + {dp}."""
        return Vec3(*(x if x.is_zero else self.graph.call(self.carry, f"{what}{j + 1}_{axis}",
                                                            Place("P", j, f"{what}.{axis}"), x)[0]
                      for axis, x in zip("xyz", now, strict=True)))

    def _spring(self, j: int) -> Expr:
        """Return the torque, N m or N, that stretches the spring of joint j."""
        stiffness = joint_stiffness(self.model, j)
        if not stiffness:
            return self.graph.const(0.0)
        away = self.graph.bind(self._position(j) - self.model.bodies[j].joint.rest, f"stretch{j + 1}")
        return self.graph.const(stiffness) * away

    # ---- what is to be emitted
    @property
    def turning(self) -> list[int]:
        """Return the bodies whose rotating frames the step needs."""
        _, live = self.graph.live()
        return [j for j, (c, _) in sorted(self.pairs.items()) if isinstance(c, Result) and c.call in live]

    @property
    @abstractmethod
    def intro(self) -> list[str]:
        """Return the comment for the head of the C file."""


def untilt(a: Vec3, b: ReducedBody) -> Vec3:
    """Return a vector of the parent's body frame in the joint's frame, with constant rotations about z and x."""
    (cg, sg), (ca, sa) = b.gamma, b.alpha
    x, y, z = cg * a.x + sg * a.y, cg * a.y - sg * a.x, a.z
    return Vec3(x, ca * y + sa * z, ca * z - sa * y)


def tilt(a: Vec3, b: ReducedBody) -> Vec3:
    (cg, sg), (ca, sa) = b.gamma, b.alpha
    x, y, z = a.x, ca * a.y - sa * a.z, sa * a.y + ca * a.z
    return Vec3(cg * x - sg * y, sg * x + cg * y, z)


def tidy(value: float) -> float:
    """Return a constant without its last bits, which are rounding errors of products."""
    rounded = float(f"{value:.{DIGITS}g}")
    return 0.0 if abs(rounded) < 1e-12 else rounded
