"""Labels of tables, lists and texts in many languages, by the name they stand for.

Order of the languages: en de fr es it pt nl sv da no fi pl cs hu ro ru uk el tr ar ja zh ko.
"""

import re
import unicodedata

from corral.extract.names.words.aliases import ALIASES
from corral.extract.names.words.more_labels import MORE_LABELS
from corral.extract.names.words.text import plain

_WORDS: dict[str, str] = {
    "title": "title|titel|titre|título|titolo|tytuł|název|název knihy|cím|titlu|название|заголовок|назва|τίτλος|başlık"
    "|عنوان|العنوان|タイトル|書名|品名|商品名|标题|書名|名称|名稱|제목|nombre|nom|nome|naam|namn|navn|nazwa|nimi"
    "|nimeke|ürün adı"
    "|produktname|nom du produit|nombre del producto",
    "price": "price|our price|unit price|retail price|price incl tax|preis|einzelpreis|verkaufspreis|kaufpreis|unser"
    " preis"
    "|preis inkl mwst|bruttopreis|prix|prix ttc|prix unitaire|precio|precio final|prezzo|preço|preço à vista|prijs"
    "|onze prijs|pris|vårt pris|hinta|cena|cena brutto|cena s dph|vaše cena|ár|bruttó ár|eladási ár|preț|pret|цена"
    "|стоимость|ціна|вартість|τιμή|fiyat|fiyatı|satış fiyatı|السعر|سعر|価格|税込価格|販売価格|値段|定価|本体価格"
    "|价格|价钱|售价"
    "|價格|售價|定价|가격|판매가|판매가격",
    "currency": "currency|währung|devise|monnaie|moneda|divisa|valuta|moeda|waluta|měna|pénznem|monedă|валюта|νόμισμα"
    "|para birimi|العملة|通貨|货币|貨幣|통화",
    "sku": "sku|item number|item no|item|item code|product code|product id|product number|product no|part number"
    "|part no"
    "|article number|article no|model no|order number|order code|stock code|catalog number|catalogue number|ref|ref no"
    "|reference|artikelnummer|artikelnr|artikel nr|art nr|artnr|artikel|bestellnummer|bestellnr|best nr|produktnummer"
    "|produktnr|produktcode|référence|réf|référence produit|code produit|code article|référence article"
    "|numéro darticle"
    "|referencia|ref producto|código|código de producto|código del producto|cód|número de artículo|codice"
    "|codice articolo|codice prodotto|cod articolo|cod prodotto|riferimento|art|código do produto|código produto"
    "|referência|productcode|bestelcode|varenummer|varenr|varunummer|artikelkod|art nr|tuotenumero|tuotekoodi"
    "|numer katalogowy|nr katalogowy|kod produktu|indeks|symbol|katalogové číslo|kód|kód produktu|kód zboží|obj číslo"
    "|číslo produktu|cikkszám|termékkód|cod produs|cod|артикул|код товара|код|арт|артикул товара|артикул №|код товару"
    "|κωδικός|κωδικός προϊόντος|ürün kodu|stok kodu|رمز المنتج|رقم المنتج|رقم الصنف|商品番号|商品コード|品番|型番"
    "|型號|货号|貨號"
    "|商品编号|商品编码|商品編號|产品编号|상품코드|상품번호|제품번호",
    "gtin": "gtin|ean|upc|ean code|ean13|ean nummer|gtin13|barcode|strichcode|codebarre|code barre|code ean"
    "|code barres"
    "|código de barras|código ean|codice a barre|codice ean|streepjescode|streckkod|stregkode|viivakoodi|kod ean"
    "|kod kreskowy|čárový kód|vonalkód|cod de bare|cod ean|штрихкод|штрих код|баркод|barkod|الباركود|janコード|jan"
    "|条形码"
    "|条码|條碼|바코드|gtin ean|ean gtin|ean isbn",
    "mpn": "mpn|manufacturer part number|mfr part number|mfg part|mfr no|herstellernummer|hersteller artikelnummer"
    "|herstellerartikelnummer|herstellernr|référence fabricant|réf fabricant|referencia del fabricante"
    "|codice produttore|kod producenta|part number výrobce|артикул производителя|model number|modellnummer"
    "|メーカー型番",
    "brand": "brand|brand name|make|marke|marca|marque|merk|märke|varumärke|mærke|merke|merkki|tuotemerkki|marka"
    "|značka|márka|бренд|марка|торговая марка|μάρκα|العلامة التجارية|الماركة|ブランド|ブランド名|品牌|브랜드|fabrikat",
    "manufacturer": "manufacturer|maker|hersteller|herstellerin|fabricant|constructeur|fabricante|produttore|fabrikant"
    "|tillverkare|producent|fabrikant|produsent|valmistaja|výrobce|gyártó|producător|производитель|изготовитель"
    "|виробник"
    "|κατασκευαστής|üretici|الشركة المصنعة|メーカー|製造元|制造商|生产商|厂商|製造商|제조사|제조업체",
    "availability": "availability|stock|stock status|in stock|available|verfügbarkeit|lieferbarkeit|lagerbestand"
    "|lagerstatus|bestand|verfügbar|disponibilité|stock disponible|disponibilidad|existencias|disponibilità"
    "|disponibilidade|estoque|beschikbaarheid|voorraad|tillgänglighet|lagerstatus|lager|tilgængelighed|lagerstatus"
    "|tilgjengelighet|saatavuus|varastossa|varastotilanne|dostępność|dostupnost|skladem|elérhetőség|raktárkészlet"
    "|készlet|disponibilitate|stoc|наличие|доступность|в наличии|наявність|διαθεσιμότητα|stok|stok durumu"
    "|التوفر|حالة التوفر|المخزون|在庫|在庫状況|库存|存货|庫存|是否有货|재고|재고상태",
    "condition": "condition|zustand|artikelzustand|état|estado|condición|condizione|condizioni|condição|staat|conditie"
    "|skick|stand|tilstand|kunto|stan|stav|állapot|stare|состояние|стан|κατάσταση|durumu|kondisyon|الحالة|状態"
    "|商品の状態|成色|新旧程度|商品狀態|상태",
    "category": "category|categories|product category|department|genre|kategorie|kategorien|warengruppe|rubrik"
    "|catégorie"
    "|catégories|rayon|categoría|categorías|categoria|categorie|categorieën|kategori|kategorier|kategoria|kategória"
    "|categorii|категория|рубрика|категорія|κατηγορία|الفئة|التصنيف|القسم|カテゴリ|カテゴリー|ジャンル|分类|类别"
    "|分類|類別|카테고리|분류",
    "tags": "tags|tag|keywords|key words|schlagwörter|schlagworte|schlagwort|stichworte|stichwörter|mots clés|motsclés"
    "|étiquettes|etiquetas|palabras clave|parole chiave|etichette|palavras chave|trefwoorden|nyckelord|taggar|taggar"
    "|emneord|avainsanat|asiasanat|tagi|słowa kluczowe|štítky|klíčová slova|címkék|kulcsszavak|etichete|теги|метки"
    "|ключевые слова|ключові слова|ετικέτες|etiketler|anahtar kelimeler|الكلمات المفتاحية|وسوم|タグ|キーワード|标签"
    "|关键词|關鍵詞"
    "|標籤|태그|키워드",
    "author": "author|authors|by|written by|byline|writer|autor|autoren|autorin|autorinnen|verfasser|verfasserin"
    "|geschrieben von|von|auteur|auteurs|écrit par|par|autora|autores|escrito por|por|autore|autori|scritto da|autor a"
    "|auteur s|door|geschreven door|författare|skriven av|av|forfatter|skrevet af|skrevet av|af|kirjoittaja|tekijä"
    "|kirjailija|autorzy|autorka|autoři|napsal|szerző|szerzők|írta|autorul|автор|авторы|автори|συγγραφέας|συντάκτης"
    "|yazar|yazan|yazarlar|المؤلف|الكاتب|كاتب|تأليف|著者|作者|執筆者|筆者|文|著|撰文|编者|저자|글쓴이|지은이|posted"
    " by|author s",
    "date": "date|published|publication date|publish date|date published|published on|posted|posted on|date posted"
    "|release date|released|date of publication|datum|veröffentlicht|veröffentlicht am|veröffentlichungsdatum"
    "|erschienen|erscheinungsdatum|erschienen am|publiziert am|erscheinungstermin|publikationsdatum|publié le|date"
    " de publication|paru le"
    "|date de parution|mis en ligne le|fecha|fecha de publicación|publicado|publicado el|publicada el|data"
    "|data di pubblicazione|pubblicato|pubblicato il|data de publicação|publicado em|gepubliceerd|gepubliceerd op"
    "|publicatiedatum|verschijningsdatum|geplaatst op|publicerad|publicerat|publiceringsdatum|utgivningsdatum|dato"
    "|udgivet"
    "|udgivelsesdato|publiceret|publisert|utgitt|utgivelsesdato|julkaistu|julkaisupäivä|päivämäärä|opublikowano"
    "|data publikacji|data wydania|datum vydání|publikováno|vydáno|zveřejněno|dátum|megjelenés|közzétéve|megjelenés"
    " dátuma"
    "|megjelent|data publicării|publicat|дата|опубликовано|дата публикации|дата выхода|дата публікації|опубліковано"
    "|ημερομηνία|δημοσιεύθηκε|ημερομηνία δημοσίευσης|tarih|yayın tarihi|yayınlanma tarihi|yayınlandı|التاريخ"
    "|تاريخ النشر|نشر في|日付|公開日|投稿日|掲載日|発売日|発行日|出版日|日期|发布日期|发布时间|发表时间|出版日期"
    "|出版时间|發布日期|發佈日期"
    "|날짜|작성일|게시일|등록일|발행일|출간일",
    "modified": "modified|updated|last updated|last modified|last update|updated on|date modified|aktualisiert"
    "|zuletzt aktualisiert|letzte änderung|letzte aktualisierung|stand|geändert|geändert am|aktualisiert am|mis à jour"
    "|mis à jour le|dernière mise à jour|dernière modification|modifié le|actualizado|actualizado el|última"
    " actualización"
    "|modificado|fecha de actualización|aggiornato|aggiornato il|ultimo aggiornamento|ultima modifica|atualizado"
    "|atualizado em|última atualização|bijgewerkt|laatst bijgewerkt|laatst gewijzigd|laatste update|uppdaterad"
    "|senast uppdaterad|ändrad|opdateret|sidst opdateret|oppdatert|sist oppdatert|päivitetty|zaktualizowano"
    "|ostatnia aktualizacja|data aktualizacji|aktualizováno|poslední aktualizace|naposledy upraveno|frissítve"
    "|utolsó módosítás|actualizat|обновлено|дата обновления|последнее обновление|изменено|оновлено|ενημερώθηκε"
    "|τελευταία ενημέρωση|güncelleme|güncellendi|son güncelleme|güncelleme tarihi|آخر تحديث|تاريخ التحديث|更新日"
    "|最終更新日"
    "|最終更新|更新日時|更新时间|更新日期|最后更新|更新時間|수정일|최종수정일|업데이트",
    "description": "description|product description|summary|about this item|beschreibung|produktbeschreibung"
    "|artikelbeschreibung|kurzbeschreibung|zusammenfassung|descriptif|description du produit|résumé|descripción"
    "|descripción del producto|resumen|descrizione|descrizione prodotto|descrizione del prodotto|riassunto|descrição"
    "|descrição do produto|omschrijving|productomschrijving|beschrijving|productbeschrijving|beskrivning"
    "|produktbeskrivning|beskrivelse|produktbeskrivelse|kuvaus|tuotekuvaus|opis|opis produktu|popis|popis produktu"
    "|leírás"
    "|termékleírás|descriere|описание|описание товара|опис|περιγραφή|açıklama|ürün açıklaması|الوصف|وصف المنتج|وصف"
    "|説明"
    "|商品説明|商品の説明|概要|描述|商品描述|产品描述|简介|商品介紹|설명|상품설명|abstract",
    "rating": "rating|average rating|customer rating|our rating|bewertung|kundenbewertung|durchschnittliche"
    " bewertung|note|note moyenne"
    "|évaluation|valoración|puntuación|calificación|valutazione|voto|avaliação|nota|beoordeling|waardering|betyg"
    "|omdöme"
    "|bedømmelse|vurdering|arvio|arvosana|ocena|hodnocení|értékelés|evaluare|рейтинг|оценка|оцінка|βαθμολογία|puan"
    "|değerlendirme|التقييم|評価|评分|評分|평점|별점",
    "review_count": "reviews|number of reviews|customer reviews|anzahl bewertungen|bewertungen|avis|nombre davis"
    "|opiniones"
    "|reseñas|recensioni|avaliações|recensies|beoordelingen|recensioner|anmeldelser|arvostelut|opinie|recenze"
    "|vélemények|recenzii|отзывы|количество отзывов|відгуки|κριτικές|yorumlar|yorum sayısı|المراجعات|التقييمات"
    "|レビュー数"
    "|レビュー件数|评论数|評論數|리뷰수",
    "address": "address|our address|postal address|visit us|adresse|anschrift|postanschrift|dirección|direccion"
    "|domicilio|indirizzo|endereço"
    "|morada|adres|bezoekadres|adress|besöksadress|osoite|käyntiosoite|adresa|sídlo|cím|címünk|adresă|адрес|адреса"
    "|διεύθυνση"
    "|العنوان البريدي|住所|所在地|地址|주소|address line|find us",
    "city": "city|town|stadt|ort|wohnort|ville|ciudad|localidad|città|comune|cidade|stad|plaats|woonplaats|by|kaupunki"
    "|miasto|město|város|oraș|город|місто|πόλη|şehir|المدينة|市|城市|도시",
    "postal_code": "postal code|zip|zip code|postcode|plz|postleitzahl|code postal|código postal|cap|cep|postnummer"
    "|postinumero|kod pocztowy|psč|irányítószám|cod poștal|индекс|почтовый индекс|поштовий індекс|ταχυδρομικός κώδικας"
    "|posta kodu|الرمز البريدي|郵便番号|邮编|邮政编码|郵遞區號|우편번호",
    "country": "country|land|pays|país|paese|nazione|maa|kraj|země|ország|țară|страна|країна|χώρα|ülke|الدولة|البلد"
    "|国|国家|國家|국가",
    "region": "region|state|bundesland|région|región|provincia|regione|província|provincie|län|region|maakunta"
    "|województwo"
    "|okres|megye|județ|область|регион|περιοχή|bölge|il|المنطقة|都道府県|省份|지역",
    "phone": "phone|telephone|tel|phone number|telephone number|call us|call|mobile|telefon|telefonnummer|rufnummer"
    "|fon|tel nr|tél|téléphone"
    "|teléfono|tfno|teléfonos|telefono|telefone|fone|telefoon|telefoonnummer|tfn|tlf|telefonnr|puhelin|puh"
    "|puhelinnumero|telefonu|nr telefonu"
    "|telefonní číslo|telefonszám|телефон|тел|номер телефона|τηλέφωνο|telefon numarası|هاتف|الهاتف|رقم الهاتف|電話"
    "|電話番号"
    "|电话|联系电话|電話號碼|전화|전화번호|연락처|mobil|handy|cellulare",
    "fax": "fax|telefax|télécopie|fax number|факс|faks|ファックス|传真|傳真|팩스|φαξ|الفاكس",
    "email": "email|e mail|e mail address|email address|mail|emailadresse|e mail adresse|courriel|adresse email"
    "|adresse mail"
    "|correo|correo electrónico|posta elettronica|indirizzo email|e mailadres|epost|e post|sähköposti|adres email"
    "|elektronická pošta"
    "|email cím|электронная почта|эл почта|почта|електронна пошта|ηλεκτρονικό ταχυδρομείο|eposta|e posta|البريد"
    " الإلكتروني"
    "|بريد إلكتروني|メール|メールアドレス|邮箱|电子邮箱|电子邮件|電子郵件|電郵|이메일|전자우편",
    "opening_hours": "opening hours|hours|business hours|öffnungszeiten|geschäftszeiten|heures douverture|horaires"
    "|horaires douverture|horario|horario de apertura|orari|orari di apertura|orario|horário|horário de funcionamento"
    "|openingstijden|öppettider|åbningstider|åpningstider|aukioloajat|godziny otwarcia|otevírací doba|nyitvatartás"
    "|program|часы работы|режим работы|график работы|графік роботи|ώρες λειτουργίας|çalışma saatleri|ساعات العمل"
    "|営業時間"
    "|营业时间|營業時間|영업시간",
    "language": "language|sprache|langue|idioma|lingua|língua|taal|språk|sprog|kieli|język|jazyk|nyelv|limba|язык|мова"
    "|γλώσσα|dil|اللغة|言語|语言|語言|언어",
    "publisher": "publisher|verlag|herausgeber|éditeur|editorial|editor|editore|editora|uitgever|uitgeverij|förlag"
    "|forlag"
    "|kustantaja|wydawca|wydawnictwo|vydavatel|nakladatel|nakladatelství|kiadó|editura|издательство|издатель"
    "|видавництво"
    "|εκδότης|εκδόσεις|yayınevi|yayıncı|الناشر|دار النشر|出版社|発行元|发行商|出版商|출판사",
    "isbn": "isbn|isbn13|isbn 13|isbn10|isbn 10|isbn no|isbn kodu|isbn nummer|isbn号",
    "issn": "issn",
    "doi": "doi",
    "pages": "pages|number of pages|seiten|seitenzahl|nombre de pages|páginas|número de páginas|pagine"
    "|numero di pagine"
    "|paginas|aantal paginas|sidor|antal sidor|sider|sidetal|sidemäärä|liczba stron|strony|počet stran|oldalszám"
    "|număr pagini|страниц|количество страниц|сторінок|σελίδες|sayfa|sayfa sayısı|عدد الصفحات|ページ数|页数|頁數|쪽수",
    "ingredients": "ingredients|zutaten|ingrédients|ingredientes|ingredienti|ingrediënten|ingredienser|ainekset"
    "|składniki"
    "|ingredience|suroviny|hozzávalók|ingrediente|ингредиенты|інгредієнти|υλικά|malzemeler|المكونات|المقادير|مقادير"
    "|材料|食材"
    "|配料|用料|재료",
    "instructions": "instructions|directions|method|preparation|steps|zubereitung|anleitung|zubereitungsschritte"
    "|préparation|étapes|preparación|elaboración|instrucciones|preparazione|procedimento|preparo|modo de preparo"
    "|modo de preparação"
    "|bereiding|bereidingswijze|bereidingswijze|gör så här|tillagning|instruktioner|fremgangsmåde|sådan gør du|slik"
    " gjør du|fremgangsmåte|valmistusohje|ohje"
    "|przygotowanie|sposób przygotowania|wykonanie|postup|příprava|elkészítés|elkészítése|mod de preparare"
    "|приготовление"
    "|способ приготовления|приготування|εκτέλεση|yapılışı|hazırlanışı|طريقة التحضير|طريقة العمل|الطريقة|作り方|手順"
    "|做法|步骤|步驟|만드는법",
    "yield": "yield|servings|serves|portions|makes|portionen|ergibt|für|portions|pour|rendement|nombre de personnes"
    "|raciones|porciones"
    "|comensales|porzioni|dosi per|persone|porções|rendimento|porties|aantal personen|portioner|antal personer|antal"
    "|annoksia"
    "|annokset|porcje|liczba porcji|porcí|počet porcí|porce|adag|adagok|porții|порции|количество порций|порцій|μερίδες"
    "|kaç kişilik|porsiyon|الحصص|عدد الحصص|عدد الأشخاص|分量|人数|何人分|份量|人份|분량|인분",
    "prep_time": "prep time|preparation time|prep|vorbereitungszeit|arbeitszeit|temps de préparation|tiempo de"
    " preparación"
    "|tempo di preparazione|tempo de preparo|voorbereidingstijd|bereidingstijd|förberedelsetid|forberedelsestid"
    "|valmisteluaika"
    "|czas przygotowania|doba přípravy|előkészítési idő|время подготовки|hazırlama süresi|وقت التحضير|準備時間"
    "|准备时间|준비시간",
    "cook_time": "cook time|cooking time|bake time|kochzeit|garzeit|backzeit|koch backzeit|temps de cuisson|cuisson"
    "|tiempo de cocción"
    "|tempo di cottura|cottura|tempo de cozimento|kooktijd|oventijd|tillagningstid|tilberedningstid|kypsennysaika"
    "|czas gotowania"
    "|czas pieczenia|doba pečení|doba vaření|főzési idő|sütési idő|время приготовления|pişirme süresi|وقت الطهي"
    "|調理時間|烹饪时间|조리시간",
    "total_time": "total time|ready in|gesamtzeit|zeit insgesamt|temps total|tiempo total|tempo totale|tempo total"
    "|totale tijd"
    "|total tid|tid|kokonaisaika|czas całkowity|celkový čas|teljes idő|общее время|toplam süre|الوقت الكلي|所要時間"
    "|总时间",
    "duration": "duration|length|running time|runtime|dauer|laufzeit|länge|durée|duración|durata|duração|duur"
    "|looptijd|varaktighet"
    "|speltid|varighed|varighet|kesto|czas trwania|délka|trvání|időtartam|hossz|длительность|продолжительность"
    "|тривалість|διάρκεια|süre"
    "|المدة|再生時間|期間|时长|片长|時長|시간",
    "start_date": "start|start date|starts|begin|begins|beginn|startdatum|anfang|début|date de début|commence le"
    "|inicio"
    "|fecha de inicio|comienza|inizio|data inizio|data di inizio|início|data de início|aanvang|startar|startdatum"
    "|starter|startdato|alkaa|alkaen"
    "|rozpoczęcie|początek|data rozpoczęcia|začátek|zahájení|kezdés|kezdete|început|data începerii|начало|дата"
    " начала|початок"
    "|έναρξη|başlangıç|başlangıç tarihi|تاريخ البدء|البداية|開始|開始日|開催日|日時|开始时间|开始日期|開始時間|시작"
    "|시작일|when|wann|quand|cuándo|quando|wanneer|när|kiedy|kdy|когда|коли|date and time|date time|datum und"
    " uhrzeit|termin|event date",
    "end_date": "end|end date|ends|ende|enddatum|fin|date de fin|fecha de fin|termina|fine|data fine|data di fine"
    "|fim|término|data de término|einde|einddatum|slutar|slut"
    "|slutdatum|slutter|slutt|päättyy|zakończenie|koniec|data zakończenia|konec|ukončení|befejezés|vége|sfârșit"
    "|конец|окончание|дата окончания"
    "|кінець|закінчення|λήξη|bitiş|bitiş tarihi|تاريخ الانتهاء|النهاية|終了|終了日|结束时间|结束日期|結束時間|종료"
    "|종료일",
    "location": "location|place|where|ort|standort|veranstaltungsort|wo|lieu|où|lugar|ubicación|dónde|luogo|dove"
    "|sede|local|onde|localização|locatie"
    "|plaats|waar|plats|var|sted|hvor|paikka|missä|miejsce|gdzie|lokalizacja|místo|kde|misto konání|helyszín|hely"
    "|hol|loc|locație|unde|место"
    "|где|место проведения|місце|де|τοποθεσία|πού|yer|konum|nerede|المكان|الموقع|场所|場所|会場|地点|地點|장소|위치",
    "venue": "venue|veranstaltungsstätte|spielstätte|salle|recinto|locatie zaal|lokal|spielort|arena|会場|场馆|場館"
    "|공연장",
    "organizer": "organizer|organiser|organised by|organized by|hosted by|host|veranstalter|veranstalterin"
    "|organisateur|organisé par|organizador|organiza|organizado por"
    "|organizzatore|organizzato da|realização|organisator|arrangör|arrangør|järjestäjä|organizator|organizátor"
    "|pořadatel|pořádá|szervező|rendező|организатор"
    "|організатор|διοργανωτής|düzenleyen|المنظم|الجهة المنظمة|主催|主催者|主办方|主办|主辦單位|主辦|주최",
    "salary": "salary|pay|wage|compensation|salary range|gehalt|vergütung|lohn|verdienst|entgelt|bezahlung|salaire"
    "|rémunération|salario|sueldo|retribución|stipendio|retribuzione"
    "|ral|salário|remuneração|salaris|lön|løn|lønn|palkka|wynagrodzenie|zarobki|płaca|plat|mzda|fizetés|bér|bérezés"
    "|salariu|зарплата|заработная плата|оклад|заробітна плата|μισθός"
    "|maaş|ücret|الراتب|給与|給料|年収|月給|時給|薪资|工资|薪水|月薪|薪資|薪酬|급여|연봉",
    "company": "company|employer|organisation|organization|firma|unternehmen|arbeitgeber|entreprise|employeur"
    "|société|empresa|empleador|compañía|azienda|datore di lavoro"
    "|società|empregador|bedrijf|werkgever|företag|arbetsgivare|virksomhed|arbejdsgiver|arbeidsgiver|bedrift|yritys"
    "|työnantaja|pracodawca|společnost|zaměstnavatel|cég"
    "|munkáltató|companie|angajator|компания|работодатель|организация|компанія|роботодавець|εταιρεία|şirket|işveren"
    "|الشركة|جهة العمل|会社名|会社|企業名|雇用主|公司"
    "|公司名称|单位|企业|公司名稱|회사|회사명|기업",
    "employment_type": "employment type|employment|job type|contract|contract type|type of contract|working hours"
    "|position type|anstellungsart|beschäftigungsart|vertragsart|arbeitszeitmodell|anstellung|beschäftigung"
    "|type de contrat|contrat|type demploi|tipo de contrato|contrato|jornada|tipo di contratto|contratto|tipo de"
    " emprego|regime|vínculo|dienstverband|contracttype|anställningsform"
    "|anställning|ansættelsesform|ansættelse|stillingstype|ansettelsesform|työsuhde|rodzaj umowy|typ umowy|wymiar"
    " pracy|druh úvazku|typ úvazku|pracovní poměr|foglalkoztatás|munkaviszony|tip contract|тип занятости"
    "|занятость|вид занятости|зайнятість|τύπος απασχόλησης|çalışma şekli|نوع الوظيفة|نوع العقد|雇用形態|工作性质"
    "|職務類型|工作类型|고용형태",
    "job_location": "job location|work location|workplace|arbeitsort|einsatzort|dienstort|lieu de travail|lugar de"
    " trabajo|sede di lavoro|local de trabalho|standplaats|werklocatie|arbetsort|arbetsplats"
    "|arbejdssted|arbeidssted|työpaikan sijainti|miejsce pracy|místo výkonu práce|munkavégzés helye|locul de muncă"
    "|место работы|місце роботи|τόπος εργασίας|iş yeri|مكان العمل|勤務地|工作地点|工作地點|근무지",
    "valid_through": "application deadline|deadline|closing date|apply by|apply before|bewerbungsfrist"
    "|bewerbungsschluss|date limite|date limite de candidature|fecha límite|plazo|scadenza|prazo"
    "|sollicitatiedeadline|sista ansökningsdag|ansökan senast|ansøgningsfrist|søknadsfrist"
    "|hakuaika päättyy|termin składania|uzávěrka|jelentkezési határidő|termen limită|срок подачи|son başvuru|آخر"
    " موعد|応募締切|締切|截止日期|截止时间|마감일|valid through|expires",
    "weight": "weight|item weight|gewicht|poids|peso|vikt|vægt|vekt|paino|waga|hmotnost|súly|greutate|вес|вага|βάρος"
    "|ağırlık|الوزن|重量|重さ|무게",
    "color": "color|colour|farbe|couleur|color|colore|cor|kleur|färg|farve|farge|väri|kolor|barva|szín|culoare|цвет"
    "|колір|χρώμα|renk|اللون|色|カラー|颜色|顏色|색상",
    "size": "size|größe|taille|talla|tamaño|taglia|tamanho|maat|storlek|størrelse|koko|rozmiar|velikost|méret|mărime"
    "|размер|розмір|μέγεθος|beden|المقاس|サイズ|尺寸|尺码|사이즈",
    "material": "material|matériau|matière|materiale|materiaal|materiaali|materiał|materiál|anyag|материал|матеріал"
    "|υλικό|malzeme|الخامة|素材|材质|材質|소재",
    "model": "model|modell|modèle|modelo|modello|malli|модель|μοντέλο|الموديل|モデル|型号|모델",
    "cuisine": "cuisine|küche|cocina|cucina|cozinha|keuken|kök|køkken|kjøkken|keittiö|kuchnia|kuchyně|konyha"
    "|bucătărie|кухня|κουζίνα|mutfak|المطبخ|料理|菜系",
    "calories": "calories|kalorien|brennwert|calorías|calorie|calorias|calorieën|kalorier|kalorit|kalorie|kalória"
    "|calorii|калории|калорийность|θερμίδες|kalori|السعرات|カロリー|热量|칼로리|energy",
    "comments_count": "comments|replies|kommentare|antworten|commentaires|réponses|comentarios|respuestas|commenti"
    "|risposte|comentários|respostas|reacties|kommentarer|svar|kommentit|komentarze|odpowiedzi|komentáře|odpovědi"
    "|hozzászólások"
    "|комментарии|ответы|коментарі|σχόλια|cevaplar|التعليقات|الردود|コメント|返信|评论|回复|留言|댓글",
    "license": "license|licence|lizenz|licencia|licenza|licença|licentie|licens|lisens|lisenssi|licencja|licenc"
    "|лицензия|ліцензія|lisans|الترخيص|ライセンス|许可证|许可|라이선스",
    "version": "version|versión|versione|versão|versie|versio|wersja|verze|verzió|versiune|версия|версія|sürüm"
    "|الإصدار|バージョン|版本|버전",
}


# Words for a date that may be one of publication or of an event.
DATE_WORDS = frozenset(
    plain(word)
    for word in [
        "date",
        "datum",
        "dates",
        "fecha",
        "data",
        "dato",
        "päivämäärä",
        "dátum",
        "дата",
        "ημερομηνία",
        "tarih",
        "التاريخ",
        "日付",
        "日程",
        "日期",
        "날짜",
        "תאריך",
        "tanggal",
        "ngày",
        "วันที่",
        "दिनांक",
        "تاریخ",
    ]
)
_BRACKETS = re.compile(r"\s*[(\[（【].*$", re.DOTALL)


def _fold_accents(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _build() -> dict[str, tuple[str, ...]]:
    """Return, by label, the names it may stand for: `Ort` is a location and a city."""
    table: dict[str, list[str]] = {}
    for name, words in (*_WORDS.items(), *MORE_LABELS.items()):
        for word in words.split("|"):
            for key in dict.fromkeys((plain(word), plain(_fold_accents(word)))):
                names = table.setdefault(key, [])
                if key and name not in names:
                    names.append(name)
    for word, name in ALIASES.items():
        table.setdefault(word, [name])
    return {key: tuple(names) for key, names in table.items() if key}


LABELS: dict[str, tuple[str, ...]] = _build()


def names_of_label(label: str) -> tuple[str, ...]:
    """Return the names that a label stands for; `Price (incl. VAT)` is a price, like `Price`."""
    found = LABELS.get(plain(label), ())
    return found or LABELS.get(plain(_BRACKETS.sub("", label)), ())
