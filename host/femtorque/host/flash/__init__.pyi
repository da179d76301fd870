from .flashing import flash as flash
