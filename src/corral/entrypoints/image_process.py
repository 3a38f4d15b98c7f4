"""Entry point of an image decoder: `python -m corral.entrypoints.image_process LINK_FD PARENT_PID LIMITS`.

It has no database, no settings and no network. The kernel limits its memory, and its processor time for each image.
"""

import gc
import os
import resource
import signal
import sys

from corral.images.decode import process_image
from corral.images.messages import READY, DecoderLimits, answer_header, decode_recipe, encode_facts, request_header
from corral.runtime.process import COLLECT_AFTER, die_with_parent

_PIECE_BYTES = 256 * 1024
_MEMORY_EXIT = 3


def main() -> None:
    link_fd, parent_pid = int(sys.argv[1]), int(sys.argv[2])
    limits = DecoderLimits.parse(sys.argv[3])
    die_with_parent(parent_pid)
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    resource.setrlimit(resource.RLIMIT_AS, (limits.address_bytes, limits.address_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # a decoder writes no file
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    try:
        _serve(link_fd, limits)
    except MemoryError:
        os._exit(_MEMORY_EXIT)
    except OSError:
        pass  # the other side is gone
    os._exit(0)


def _serve(link_fd: int, limits: DecoderLimits) -> None:
    requests = os.fdopen(link_fd, "rb", buffering=_PIECE_BYTES, closefd=False)
    answers = os.fdopen(link_fd, "wb", buffering=0, closefd=False)
    answers.write(READY)
    head, recipe = b"", None
    while len(header := requests.read(request_header.size)) == request_header.size:
        head_bytes, body_bytes = request_header.unpack(header)
        new_head, body = requests.read(head_bytes), requests.read(body_bytes)
        if len(body) < body_bytes:
            return
        if recipe is None or new_head != head:
            head, recipe = new_head, decode_recipe(new_head)
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
        facts, output = process_image(body, recipe)
        signal.setitimer(signal.ITIMER_PROF, 0)
        packed = encode_facts(facts)
        frame = memoryview(answer_header.pack(len(packed), len(output)) + packed + output)
        while frame:
            frame = frame[answers.write(frame) :]


if __name__ == "__main__":
    main()
