"""Choose the main entity: the one that the page is about.

The rule, in this order:

1. Leave out entities of a list or of related items, parts of another entity (an offer, a rating, an author), and
   entities that describe the site (WebSite, BreadcrumbList, navigation).
2. Score the others by their type (Product, Article, Recipe, Event, JobPosting and so on before places and businesses,
   those before organizations and persons, those before the page itself), and by evidence: the page names it as its
   `mainEntity`; its URL is that of the page; its name is the heading; `og:type` names its kind.
3. Take the first of those with the highest score. Several of one type without evidence are a list: then there is no
   main entity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from corral.extract.names.guesses.zones import is_beside
from corral.extract.names.sources.entity import Entity
from corral.extract.names.words.text import fold


def _set(words: str) -> frozenset[str]:
    return frozenset(words.lower().split())


PRODUCTS = _set(
    "Product ProductGroup ProductModel IndividualProduct SomeProducts Vehicle Car Motorcycle Book Offer AggregateOffer"
    " Offering"
)
ARTICLES = _set(
    "Article NewsArticle BlogPosting SocialMediaPosting TechArticle ScholarlyArticle MedicalScholarlyArticle Report"
    " AdvertiserContentArticle OpinionNewsArticle AnalysisNewsArticle ReportageNewsArticle ReviewNewsArticle"
    " BackgroundNewsArticle LiveBlogPosting SatiricalArticle APIReference DiscussionForumPosting Item Document"
)
EVENTS = _set(
    "Event MusicEvent SportsEvent TheaterEvent BusinessEvent ComedyEvent DanceEvent EducationEvent ExhibitionEvent"
    " Festival FoodEvent LiteraryEvent SaleEvent ScreeningEvent SocialEvent VisualArtsEvent ChildrensEvent"
    " CourseInstance"
)
_SPECIFIC = (
    PRODUCTS
    | ARTICLES
    | EVENTS
    | _set(
        "Recipe JobPosting Movie TVSeries TVEpisode Course SoftwareApplication MobileApplication WebApplication"
        " VideoGame MusicAlbum MusicRecording MusicPlaylist Dataset HowTo Question QAPage PodcastEpisode"
        " RealEstateListing Apartment House Service Thesis Game CreativeWork Painting VisualArtwork Drug"
    )
)
_LESSER = _set("VideoObject AudioObject Review ClaimReview CriticReview PodcastSeries Blog FAQPage DataCatalog")
_LOCATIONS = _set(
    "LocalBusiness Restaurant Hotel Store Place TouristAttraction Museum LodgingBusiness FoodEstablishment"
    " MedicalBusiness Physician Dentist Hospital Pharmacy CafeOrCoffeeShop BarOrPub Bakery AutoRepair AutoDealer"
    " HealthClub HairSalon"
    " BeautySalon ProfessionalService LegalService Attorney AccountingService RealEstateAgent TravelAgency"
    " Library School CollegeOrUniversity GovernmentOffice FinancialService BankOrCreditUnion Plumber Electrician"
    " HomeAndConstructionBusiness EntertainmentBusiness SportsActivityLocation Park City LandmarksOrHistoricalBuildings"
)
ORGANIZATIONS = _set(
    "Organization Corporation NGO NewsMediaOrganization EducationalOrganization OnlineStore OnlineBusiness"
    " GovernmentOrganization SportsTeam MusicGroup PerformingGroup Brand"
)
_PERSONS = _set("Person UserAccount Patient")
PAGES = _set(
    "WebPage ItemPage CollectionPage ProfilePage AboutPage ContactPage SearchResultsPage CheckoutPage MedicalWebPage"
    " RealEstateListingPage"
)
SITES = _set("WebSite")
# Parts of other things, and things about the site: a page is never about them.
_PARTS = _set(
    "BreadcrumbList ListItem ItemList OfferCatalog SiteNavigationElement WPHeader WPFooter WPSideBar WPAdBlock"
    " ImageObject"
    " AggregateRating Rating PostalAddress GeoCoordinates ContactPoint SearchAction EntryPoint ImageGallery Comment"
    " Answer QuantitativeValue MonetaryAmount PriceSpecification UnitPriceSpecification PropertyValue Language"
    " NutritionInformation HowToStep HowToSection SpeakableSpecification ReadAction InteractionCounter"
    " OpeningHoursSpecification Country Hreview-aggregate Review-aggregate MerchantReturnPolicy OfferShippingDetails"
)
_MAIN_LINKS = frozenset(("mainentity", "mainentityofpage", "about", "itemreviewed", "primarytopic"))
_LISTS = frozenset(
    [
        "itemlistelement",
        "item",
        "isrelatedto",
        "issimilarto",
        "isaccessoryorsparepartfor",
        "isconsumablefor",
        "relatedlink",
        "haspart",
        "review",
        "reviews",
        "comment",
        "comments",
        "mentions",
        "citation",
        "makesoffer",
        "hasoffercatalog",
        "containsplace",
        "subevent",
        "subevents",
        "isvariantof",
        "suggestedanswer",
        "acceptedanswer",
        "blogpost",
        "blogposts",
        "hasvariant",
        "significantlink",
        "episode",
        "track",
        "event",
        "events",
        "department",
        "ispartof",
        "isbasedon",
        "workexample",
    ]
)
_FAMILY_OF_OPEN_GRAPH = {
    "product": PRODUCTS,
    "og:product": PRODUCTS,
    "product.item": PRODUCTS,
    "article": ARTICLES,
    "blog": ARTICLES,
    "event": EVENTS,
    "book": _set("Book"),
    "recipe": _set("Recipe"),
    "profile": _PERSONS,
}


@dataclass(frozen=True, slots=True)
class PageFacts:
    """Facts about the page that the choice uses beside the entities."""

    urls: frozenset[str]  # its own URL and its canonical one, as returned by `url_key`
    headings: frozenset[str]  # the h1, og:title and title, folded
    heading: str  # the h1 alone, folded
    is_home: bool  # the home page of its site
    open_graph_type: str | None


@dataclass(frozen=True, slots=True)
class Subjects:
    """The main entity; the entities of the same thing, of the page, of the site; and those listed on the page."""

    main: Entity | None
    same: tuple[Entity, ...]
    pages: tuple[Entity, ...]
    sites: tuple[Entity, ...]
    organizations: tuple[Entity, ...]
    listed: tuple[Entity, ...]


def url_key(url: str) -> str:
    """Return a key that is equal for URLs of the same page: no scheme, `www.`, query, fragment and trailing slash."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    if not parts.netloc:
        return ""
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path.rstrip('/')}"


def choose_main(entities: Sequence[Entity], facts: PageFacts) -> Subjects:
    listed = {id(entity) for entity in entities if _is_listed(entity)}
    scored = [
        (_points(entity, facts), entity) for entity in entities if id(entity) not in listed and _is_candidate(entity)
    ]
    main = _best([(points, entity) for points, entity in scored if not _runs_site(entity, facts)])
    others = [entity for _, entity in scored if entity is not main]
    same = tuple(entity for entity in others if main is not None and _describe_same(main, entity))
    items = [entity for entity in entities if id(entity) in listed and entity.has_type(_SPECIFIC)]
    if main is None:
        items += [entity for _, entity in scored if entity.has_type(_SPECIFIC | _LESSER)]
    pages = tuple(entity for entity in entities if entity is not main and (entity.has_type(PAGES) or _is_loose(entity)))
    sites = tuple(entity for entity in entities if entity.has_type(SITES))
    organizations = tuple(
        entity
        for entity in entities
        if entity is not main and entity.has_type(ORGANIZATIONS | _LOCATIONS) and not _is_foreign(entity)
    )
    return Subjects(main, same, pages, sites, organizations, tuple(items))


def _is_loose(entity: Entity) -> bool:
    """Return whether an entity has neither type nor parent: its properties describe the page as a whole."""
    return not entity.types and entity.parent is None


def _is_foreign(entity: Entity) -> bool:
    """Return whether an organization does not run the site: it is a brand, an employer or an organizer."""
    return entity.via is not None and entity.via not in (
        "publisher",
        "mainentity",
        "about",
        "copyrightholder",
        "provider",
    )


def _is_listed(entity: Entity) -> bool:
    """Return whether an entity, or one that holds it, is an item of a list or beside the subject."""
    chain = (entity, *entity.ancestors())
    if any(each.via in _LISTS and each.parent is not None for each in chain):
        return True
    return entity.node is not None and is_beside(entity.node.parent)


def _is_candidate(entity: Entity) -> bool:
    if not entity.properties or entity.has_type(_PARTS) or entity.has_type(SITES):
        return False
    if entity.parent is None or entity.via in _MAIN_LINKS:
        return True
    # An entity that the page or the site holds may be its subject, but a publisher or an author is only a part.
    return entity.parent.has_type(PAGES | SITES) and entity.has_type(_SPECIFIC)


def _runs_site(entity: Entity, facts: PageFacts) -> bool:
    """Return whether an entity is a business on an inner page about something else: the agent, not the flat."""
    name = fold(entity.first("name") or "")
    if facts.is_home or not facts.heading or not name or not entity.has_type(_LOCATIONS) or entity.parent is not None:
        return False
    return not (_evidence(entity, facts) or name in facts.heading or facts.heading in name)


def _points(entity: Entity, facts: PageFacts) -> int:
    return _type_points(entity) + _evidence(entity, facts)


def _type_points(entity: Entity) -> int:
    if entity.has_type(_SPECIFIC):
        # An offer of its own comes from a product page without further markup.
        return 30 if entity.has_type(_set("Offer AggregateOffer Offering CreativeWork Document Item")) else 40
    if entity.has_type(_LOCATIONS):
        return 28
    if entity.has_type(_LESSER):
        return 25
    if entity.has_type(ORGANIZATIONS):
        return 10
    if entity.has_type(_PERSONS):
        return 8
    if entity.has_type(PAGES):
        return 2
    # An unknown type may still be the subject; properties without a type are the last resort.
    return 26 if entity.types and entity.first("name", "headline") else 1


def _evidence(entity: Entity, facts: PageFacts) -> int:
    points = 0
    if entity.via in _MAIN_LINKS and entity.parent is not None and entity.parent.has_type(PAGES):
        points += 40 if entity.via != "about" else 12
    if _addresses(entity) & facts.urls:
        points += 15
    name = entity.first("headline", "name", "title")
    if name and fold(name) in facts.headings:
        points += 20
    if facts.open_graph_type and entity.has_type(_FAMILY_OF_OPEN_GRAPH.get(facts.open_graph_type, frozenset())):
        points += 6
    return points


def _addresses(entity: Entity) -> set[str]:
    named = [entity.identity or "", *entity.texts("url"), *entity.texts("mainentityofpage")]
    named += [each.identity or "" for each in entity.entities("mainentityofpage")]
    named += [url for each in entity.entities("mainentityofpage") for url in each.texts("url")]
    return {key for url in named if (key := url_key(url))}


def _best(scored: list[tuple[int, Entity]]) -> Entity | None:
    if not scored:
        return None
    points, main = max(scored, key=lambda each: each[0])
    rivals = [entity for each, entity in scored if each == points and entity.types == main.types]
    rivals = [entity for entity in rivals if entity.source == main.source]
    if (
        len(rivals) > 1
        and points <= _type_points(main)
        and len({entity.first("name", "headline") for entity in rivals}) > 1
    ):
        return None
    return main


def _describe_same(main: Entity, other: Entity) -> bool:
    if main.identity and main.identity == other.identity:
        return True
    mine, name = main.first("name", "headline"), other.first("name", "headline")
    if mine and name:
        return fold(mine) == fold(name)
    return _family(main) == _family(other) or (other.has_type(PRODUCTS) and main.has_type(PRODUCTS))


def _family(entity: Entity) -> frozenset[str]:
    for family in (PRODUCTS, ARTICLES, EVENTS, _LOCATIONS | ORGANIZATIONS):
        if entity.has_type(family):
            return family
    return frozenset(name.lower() for name in entity.types)
