"""The texts of links to the next page, and of buttons that load more of a list."""

# The whole text, aria-label or title of a link, in lower case and without punctuation.
_NEXT = (
    "next|next page|next results|go to next page|go to the next page|next page of results|older|older posts"
    "|older entries|older articles|more results|"
    "weiter|nächste|nächste seite|zur nächsten seite|ältere beiträge|naechste seite|"
    "suivant|suivante|suivants|page suivante|articles plus anciens|"
    "siguiente|siguientes|página siguiente|siguiente página|entradas anteriores|"
    "próximo|próxima|próxima página|seguinte|página seguinte|avançar|"
    "avanti|successivo|successiva|pagina successiva|prossima|següent|pàgina següent|"
    "volgende|volgende pagina|nästa|nästa sida|næste|næste side|neste|neste side|seuraava|seuraava sivu|"
    "następna|następny|następna strona|dalej|další|další stránka|následující|ďalšia|ďalej|naprej|naslednja|sljedeća|"
    "следующая|следующая страница|следующий|далее|вперёд|вперед|наступна|наступна сторінка|следваща|следећа|"
    "következő|következő oldal|următoarea|următorul|pagina următoare|επόμενη|επόμενο|επόμενη σελίδα|"
    "sonraki|sonraki sayfa|ileri|kitas|järgmine|nākamā|tiếp|tiếp theo|trang sau|berikutnya|selanjutnya|seterusnya|"
    "次へ|次|次のページ|次ページ|次の|次ページへ|下一页|下一頁|下页|下頁|后一页|다음|다음 페이지|다음페이지|"
    "التالي|التالية|الصفحة التالية|הבא|הבאה|לעמוד הבא|بعدی|صفحه بعد|अगला|अगला पृष्ठ|ถัดไป|หน้าถัดไป|পরবর্তী"
)
NEXT_WORDS = frozenset(_NEXT.split("|"))
NEXT_SIGNS = frozenset({"›", "»", "→", ">", "⟩", "▶", "►", "❯", "⇒", "⮞", "＞", "chevron_right", "navigate_next"})
NEXT_NAMES = frozenset(
    {"next", "nextpage", "next-page", "next_page", "page-next", "pagination-next", "pager-next", "nextpostslink"}
    | {"pagination__next", "pager__item--next", "paging-next", "nav-next", "next-posts-link", "pagenext", "older-posts"}
)
# The beginning of the text of a button that adds items to the page, as a regular expression for Python and JavaScript.
MORE_PATTERN = (
    r"(?:load|show|view|see|get|fetch)\s+(?:(?:\d+|some|the\s+next|next)\s+)?(?:more|next|\d+)\b"
    r"|more\s+(?:results|items|posts|products|articles|jobs|news|stories|offers)\b|more$"
    r"|(?:mehr|weitere)(?:\s+\S+)?\s+(?:laden|anzeigen|zeigen|ansehen)|mehr$"
    r"|(?:voir|charger|afficher)\s+(?:plus|davantage|la suite)|plus\s+de\s+(?:résultats|produits|articles)"
    r"|(?:cargar|ver|mostrar)\s+m[áa]s|(?:carregar|ver|mostrar)\s+mais|(?:carica|mostra|vedi)\s+(?:altro|altri|di più)"
    r"|meer\s+(?:laden|tonen|weergeven|bekijken)|toon\s+meer|laad\s+meer|visa\s+(?:fler|mer)|ladda\s+fler|vis\s+(?:flere|mer)"
    r"|näytä\s+lisää|lataa\s+lisää|pokaż\s+więcej|(?:wczytaj|załaduj)\s+więcej|zobrazit\s+další|načíst\s+další"
    r"|показать\s+(?:ещё|еще)|загрузить\s+(?:ещё|еще)|ещё|показати\s+ще|daha\s+fazla|további|încarcă\s+mai|περισσότερα"
    r"|もっと(?:見る|読み込む|みる)|さらに(?:表示|読み込む|見る)|加载更多|載入更多|查看更多|显示更多|顯示更多|더\s*보기|더보기"
    r"|تحميل المزيد|عرض المزيد|טען עוד|הצג עוד|muat lebih|xem thêm|tải thêm|โหลดเพิ่ม|ดูเพิ่มเติม"
)
