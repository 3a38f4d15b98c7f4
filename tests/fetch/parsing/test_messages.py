"""Requests and answers arrive in a reader and back as they were sent."""

import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import Survey
from corral.domain.lists.position import ListPosition
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer, ReadRequest, read_page
from corral.fetch.parsing import messages
from corral.fetch.parsing.read_clock import read_time

PAGE = b"<html><title>Lamp</title><p class=price>9</p><a href=/on>on</a></html>"
FIELDS = (FieldSpec("title"), FieldSpec("price", css=".price"), FieldSpec("on", "a", "href", True))


def a_request(status: int = 200, crawl: CrawlReadOptions | None = None, survey: Survey | None = None) -> ReadRequest:
    headers = (("content-type", "text/html"), ("x-robots-tag", "none"))
    url = "http://a.test/lamp"
    return ReadRequest(PAGE, url, url, status, headers, FIELDS, survey=survey, crawl=crawl, max_links=7)


@pytest.mark.parametrize(
    "request_",
    [
        a_request(),
        a_request(404),
        a_request(survey=Survey.MATCHES),
        a_request(crawl=CrawlReadOptions("{}", 3, 2, 1.5, listing=ListPosition(1, 20), agent="corral")),
    ],
)
def test_a_question_arrives_as_it_was_sent(request_: ReadRequest) -> None:
    question = messages.Question(request_, 4.5, frozenset({2, 0}), has_more=True)
    sent = messages.encode_head(question)
    head_bytes, body_bytes = messages.request_header.unpack_from(sent)
    head = sent[messages.request_header.size :]
    assert (head_bytes, body_bytes) == (len(head), len(PAGE))
    assert PAGE not in sent
    assert messages.decode_question(head, PAGE) == question


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_arrives_as_it_was_sent(status: int) -> None:
    answer = read_page(a_request(status), read_time(), skipped={1})
    assert (answer.failure is None) == (status == 200)
    assert messages.decode_answer(messages.encode_answer(answer)) == answer


def test_an_answer_is_taken_out_of_the_buffer_once_it_is_complete() -> None:
    frame = messages.answer_frame(messages.READ, messages.encode_answer(ReadAnswer({"a": 1})))
    received = bytearray(frame[:-1])
    assert messages.pop_answer(received) is None
    received += frame[-1:] + frame[:3]
    taken = messages.pop_answer(received)
    assert taken is not None
    assert (taken[0], messages.decode_answer(taken[1]).record) == (messages.READ, {"a": 1})
    assert received == frame[:3]


def test_a_subclass_of_str_is_encoded_as_text() -> None:
    """The strings that lxml returns are such."""

    class Text(str):
        pass

    assert messages.decode_answer(messages.encode_answer(ReadAnswer({"a": Text("x")}))).record == {"a": "x"}
