"""The serial line to the board: port, session, requests."""

from femtorque.host.link.unix_socket import Bound as Bound
