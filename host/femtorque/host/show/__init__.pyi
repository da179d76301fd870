from .compare import (
    compared_runs as compared_runs, comparison_sentences as comparison_sentences, write_comparison as write_comparison)
from .curves import Curve as Curve, Plot as Plot
from .display import (
    build_bar as build_bar, outcome_table as outcome_table, ports_table as ports_table, stream_bar as stream_bar,
    tracking_table as tracking_table)
from .findings import Findings as Findings
from .finite_elements_page import write_elements as write_elements
from .monitor import snapshot as snapshot, watch as watch
from .plan_page import write_planned as write_planned
from .plot import draw_run as draw_run, run_summary as run_summary
from .report import write_report as write_report
from .scene.page import of_motion as of_motion, write_scene as write_scene
from .udp import sending as sending
from .web import Again as Again, serving as serving
