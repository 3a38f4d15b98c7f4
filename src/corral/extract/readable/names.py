"""Tell from the class and the id of an element which region of the page it is."""

import re
from enum import IntEnum
from itertools import pairwise

from corral.extract.readable.blocks import word_set


class Region(IntEnum):
    UNKNOWN = 0
    AROUND = 1  # navigation, advertising, notices, links to elsewhere
    COMMENTS = 2  # of readers
    DOUBTFUL = 3  # content only if it holds sentences


# Words of a name, and two neighbouring words written as one: `read-more` is found as `readmore`.
_AROUND = word_set(  # Advertising.
    "ad ads advert adverts advertisement advertisements advertising adsense adslot adbox dfp sponsor sponsored"
    " sponsors promoted outbrain taboola zergnet mgid revcontent"
    # Consent, notices, dialogs.
    " cookie cookies cookiebar cookiebanner consent gdpr ccpa onetrust popup popups modal lightbox overlay toast"
    " paywall noprint"
    # Sharing and subscribing.
    " share shares shared sharing sharebar sharebox sharebuttons sharedaddy addthis addtoany sharethis social socials"
    " socialmedia socialshare newsletter newsletters subscribe subscription signup optin follow followus donate"
    " donation donations cta appstores"
    # Image galleries.
    " slider carousel gallery slideshow"
    # Author boxes and small print.
    " author authors authorbio authorbox aboutauthor bio biography biobox userbio byline contributor contributors aside"
    " disclosure disclaimer"
    # Links to elsewhere.
    " related relateds relatedposts recommend recommended recommendation recommendations recirc recirculation readmore"
    " readnext readalso yarpp suggested suggestedreading suggestions"
    " similar trending mostread mostpopular popularposts upnext alsoread alsolike seealso"
    " morefrom morestories"
    # Navigation of the site.
    " nav navbar navbox navi navigation navheader navfooter docnav topnav subnav sidenav menu menus submenu menubar"
    " breadcrumb breadcrumbs crumb crumbs pagination pager pagenav paging toolbar topbar skiplink skiplinks footer"
    " masthead searchbox searchform catlinks editsection postnavigation"
    # Line numbers of code, and tooltips of code.
    " linenos lineno gutter ttc"
    # For screen readers.
    " offscreen visuallyhidden sronly screenreader"
)
_COMMENTS = word_set(
    "comments commentlist disqus respond replies livefyre talkback usercomments commentform commentbody commentcontent"
    " commenttext commentauthor commentwrap commentarea commentsection"
)
_DOUBTFUL = word_set(
    "widget widgets sidebar sidebars banner promo promos teaser teasers tag tags taglist tagcloud categories category"
    " dateline meta metadata postmeta entrymeta header extra extras tools actions button buttons rating ratings vote"
    " votes login search feedback credit credits timestamp date datetime published posted latest popular more"
    " supplemental supplementary complementary rail toc utility prev next print copyright download callout headlines"
    " postslist"
)
_KNOWN = _AROUND | _COMMENTS | _DOUBTFUL
_UNSEEN = frozenset(("hidden", "hide", "invisible"))  # only as a whole class: `hidden-xs` is hidden on small screens
_UNSEEN_INLINE = re.compile(
    "headerlink|editsection|anchor-?link|header-?anchor|sr-only|screen-reader|visually-?hidden|noprint|lineno"
)
# `has-sidebar` and `no-comments` name something beside the element; `section--ads` and `noRail(1)` name variants of
# it and style rules.
_ABOUT_OTHERS = re.compile(r"(?:^|(?<=\s))(?:has|no|enable|with|without)-\S+|--\S+|\S*[()$:]\S*")
_POST = re.compile(r"(?<![a-z])(?:hentry|h-entry|type-post|type-page|post-\d+)(?![a-z])")
_WORD = re.compile("[a-z]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_COMMENT_NUMBER = re.compile(r"comment-\d")
_MAX_ID_WORDS = 2


def name_of(class_name: str | None, element_id: str | None) -> str:
    """Return class and id as one text in lower case, camelCase split into words.

    A long id is ignored: it usually repeats the words of a heading.
    """
    if element_id and element_id.count("-") + element_id.count("_") + element_id.count(".") > _MAX_ID_WORDS:
        element_id = None
    if not class_name:
        text = element_id or ""
    else:
        text = f"{class_name} {element_id}" if element_id else class_name
    return text if text.islower() else _HUMP.sub("-", text).lower()


def region_of(name: str) -> Region:
    words = _WORD.findall(name)
    if not _UNSEEN.isdisjoint(words) and not _UNSEEN.isdisjoint(name.split()):
        return Region.AROUND
    if not _has_known(words):
        return Region.UNKNOWN
    if _POST.search(name):
        return Region.UNKNOWN
    words = _WORD.findall(_ABOUT_OTHERS.sub("", name))
    named = {*words, *map("".join, pairwise(words))}
    if not named.isdisjoint(_COMMENTS) or _COMMENT_NUMBER.search(name):
        return Region.COMMENTS
    if not named.isdisjoint(_AROUND):
        return Region.AROUND
    return Region.UNKNOWN if named.isdisjoint(_DOUBTFUL) else Region.DOUBTFUL


def _has_known(words: list[str]) -> bool:
    if not _KNOWN.isdisjoint(words):
        return True
    return len(words) > 1 and not _KNOWN.isdisjoint(map("".join, pairwise(words)))


def is_unseen_inline(class_name: str) -> bool:
    return _UNSEEN_INLINE.search(class_name) is not None
