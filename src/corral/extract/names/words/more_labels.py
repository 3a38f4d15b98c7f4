"""Labels in further languages, by the name they stand for, and labels of catalogues, offers and classified ads.

Order of the languages: those of `label_words`, then bg sr hr sk sl lt lv et he fa hi bn th vi id ms ca.
"""

MORE_LABELS: dict[str, str] = {
    "title": "bezeichnung|titel des werks|наименование|заглавие|наслов|naslov|názov|pavadinimas|nosaukums|nimetus"
    "|pealkiri"
    "|כותרת|שם|שם המוצר|نام|نام محصول|शीर्षक|नाम|শিরোনাম|ชื่อ|ชื่อสินค้า|tên|tên sản phẩm|judul|nama|nama produk|tajuk"
    "|títol|件名|名前|宿名|施設名|作品名|物件名|اسم المنتج|الاسم",
    "price": "asking price|total price|guide price|admission|kaufpreis|gesamtpreis|angebotspreis"
    "|festpreis|vb|eintritt|eintrittspreis|kosten|gebühr|teilnahmegebühr|tarif|prix de vente|tarif plein|entrée"
    "|precio de venta|entrada|tarifa|prezzo di vendita|ingresso|biglietto|costo|preço de venda|bilhetes|ingressos"
    "|vraagprijs|toegang|kosten|utropspris|entré|kosztuje|vstupné|belépő|entradas|料金|参加費|入場料|宿泊料金"
    "|販売価格税込|"
    "賃料|家賃|费用|票价|門票|요금|입장료|الثمن|التكلفة|رسوم|cijena|cena|кошта|kaina|cena|hind|מחיר|قیمت|मूल्य|कीमत|দাম"
    "|ราคา|giá|giá bán|harga|preu",
    "currency": "валута|valiuta|valūta|מטבע|واحد پول|मुद्रा|สกุลเงิน|tiền tệ|mata uang",
    "sku": "angebotsnummer|objektnummer|anzeigennummer|anzeigen id|expose nr|referenznummer|inventarnummer|signatur"
    "|ad id|listing id|listing number|lot|lot number|property ref|object number|accession number|inventory number"
    "|catalog no|référence annonce|référence du bien|numéro dinventaire|nº de referencia|número de referencia"
    "|ref anuncio"
    "|codice annuncio|rif|riferimento annuncio|código do anúncio|referência do imóvel|código do imóvel|objectnummer"
    "|advertentienummer|annonsnummer|objektsnummer|nr oferty|numer oferty|číslo inzerátu|ev číslo|hirdetéskód"
    "|номер объявления|лот|ilan no|رقم الإعلان|المرجع|رقم المرجع|رمز|物件番号|管理番号|注文番号|商品id|编号"
    "|物件編號|매물번호"
    "|каталожен номер|шифра|šifra|šifra proizvoda|kód výrobku|prekės kodas|preces kods|tootekood|מקט|מק ט|کد محصول"
    "|शनाख्त|รหัสสินค้า|mã sản phẩm|mã|mã hàng|kode produk|kode barang|kod produk|codi",
    "identifier": "identifier|id|identification number|object number|accession number|inventory number|catalog number"
    "|catalogue number|reference number|inventarnummer|signatur|kennung|aktenzeichen|identifiant|cote"
    "|numéro dinventaire|identificador|número de inventario|signatura|identificativo|número de inventário"
    "|inventarisnummer"
    "|inventarienummer|sygnatura|инвентарный номер|資料番号|登録番号|请求记号|索书号|청구기호",
    "gtin": "баркод|בארקוד|ברקוד|بارکد|บาร์โค้ด|mã vạch|kode batang",
    "brand": "marke hersteller|марка|brend|značka|prekės ženklas|zīmols|kaubamärk|מותג|برند|ब्रांड|ब्रैंड|ยี่ห้อ|แบรนด์"
    "|thương hiệu|nhãn hiệu|merek|merk|jenama|メーカー名|車種メーカー|製造メーカー",
    "manufacturer": "производител|proizvođač|výrobca|proizvajalec|gamintojas|ražotājs|tootja|יצרן|سازنده"
    "|تولیدکننده|निर्माता"
    "|ผู้ผลิต|nhà sản xuất|hãng sản xuất|produsen|pabrikan|pengeluar",
    "seller": "seller|sold by|vendor|dealer|agent|listed by|verkäufer|händler|anbieter|verkauf durch|vendeur|vendu par"
    "|annonceur|vendedor|vendido por|anunciante|venditore|venduto da|inserzionista|verkoper|aanbieder|säljare|sælger"
    "|selger|myyjä|sprzedawca|sprzedający|prodejce|prodávající|eladó|vânzător|продавец|продавець|πωλητής|satıcı|البائع"
    "|المعلن|出品者|販売元|販売者|卖家|商家|賣家|판매자|продавач|prodavač|predajca|pardavėjas|pārdevējs|müüja|מוכר"
    "|فروشنده"
    "|विक्रेता|ผู้ขาย|người bán|nhà bán|penjual",
    "availability": "lieferstatus|lieferzeit|наличност|dostupnost|dostupnosť|zaloga|prieinamumas|pieejamība"
    "|saadavus|זמינות"
    "|מלאי|موجودی|وضعیت|उपलब्धता|สถานะสินค้า|สต็อก|tình trạng|tình trạng kho|kho|ketersediaan|stok|販売状況",
    "condition": "fahrzeugzustand|fahrzeugart|състояние|stanje|stav|būklė|stāvoklis|seisukord|מצב|وضعیت کالا|स्थिति"
    "|สภาพ"
    "|tình trạng sản phẩm|kondisi|keadaan|商品状態|コンディション",
    "category": "sparte|ressort|thema|категория|kategorija|kategória|kategooria|קטגוריה|دسته بندی|دسته|श्रेणी|বিভাগ"
    "|หมวดหมู่"
    "|ประเภท|danh mục|chuyên mục|kategori|assunto|tema|editoria|matéria",
    "tags": "тагове|этикети|oznake|tagi|žymos|birkas|sildid|märksõnad|תגיות|برچسب ها|برچسب|टैग|ป้ายกำกับ|แท็ก|thẻ"
    "|từ khóa"
    "|etiket|assuntos|marcadores",
    "author": "artist|inventor|inventors|creator|erfinder|künstler|künstlerin|urheber|inventeur|inventeurs|artiste"
    "|inventor es|artista|inventore|inventori|uitvinder|kunstenaar|konstnär|uppfinnare|wynalazca|twórca|vynálezce"
    "|изобретатель"
    "|художник|発明者|作家|投稿者|記者|ライター|发明人|記者|기자|작성자|글|автор|autor|autorius|autors|pisac|מאת|מחבר"
    "|נכתב על ידי|נוסף על ידי|نویسنده|लेखक|লেখক|ผู้เขียน|โดย|ผู้แต่ง|tác giả|viết bởi|người đăng|penulis|oleh|pengarang"
    "|autoria|por autor|redacción|redactor|redação|redazione|verfasst von",
    "date": "created|date created|date added|listed|added|publication year|year of publication|year published"
    "|erscheinungsjahr|eingestellt am|inseriert am|online seit|erstellt|erstellt am|datierung|année de parution"
    "|date de création|créé le|posté le|año de publicación|fecha de creación|anno di pubblicazione|creato il"
    "|inserito il|ano de publicação|data de criação|criado em|publicada em|publicado a|data da publicação"
    "|jaar van uitgave|aangemaakt op|geplaatst|utgivningsår|skapad|oprettet|opprettet|julkaisuvuosi|rok wydania"
    "|data dodania"
    "|dodano|rok vydání|vytvořeno|kiadás éve|létrehozva|anul apariției|год издания|создано|дата создания|рік видання"
    "|έτος έκδοσης|yayın yılı|تاريخ الإضافة|سنة النشر|نشرت|أضيف في|نشر بتاريخ|出版年|発行年|作成日|登録日"
    "|掲載開始日|投稿日時"
    "|公開日時|配信|創建時間|出版年份|创建时间|입력|등록|출판연도|дата на публикуване|публикувано|datum objave"
    "|objavljeno"
    "|datum|dátum vydania|zverejnené|objavljen|paskelbta|data|publicēts|datums|avaldatud|kuupäev|תאריך|פורסם"
    "|תאריך פרסום"
    "|تاریخ|تاریخ انتشار|दिनांक|प्रकाशित|प्रकाशन तिथि|তারিখ|วันที่|เผยแพร่|เผยแพร่เมื่อ|ngày|ngày đăng|ngày xuất bản"
    "|tanggal|diterbitkan|dipublikasikan|tarikh|publicat el",
    "modified": "последно обновяване|актуализирано|ažurirano|posodobljeno|aktualizované|atnaujinta|atjaunināts"
    "|uuendatud"
    "|עודכן|עדכון אחרון|به روز رسانی|बदला गया|अपडेट|แก้ไขล่าสุด|อัปเดต|cập nhật|cập nhật lần cuối|diperbarui|수정"
    "|최종 수정"
    "|última modificação|modificado em|最終更新日時|تم التحديث|آخر تعديل|تحديث",
    "description": "описание|opis|popis|aprašymas|apraksts|kirjeldus|תיאור|توضیحات|شرح|विवरण|বিবরণ|รายละเอียด"
    "|คำอธิบาย|mô tả"
    "|deskripsi|keterangan|descripció|abstrakt|zusammenfassung|الوصف الوظيفي|النبذة|あらすじ|内容紹介|作品紹介"
    "|sinopse|resumo",
    "rating": "gesamtnote|оценка|ocjena|hodnotenie|ocena|įvertinimas|vērtējums|hinnang|דירוג|امتیاز|रेटिंग|คะแนน"
    "|đánh giá|penilaian"
    "|クチコミ評価|総合評価|評点",
    "address": "адрес|adresa|naslov|adresas|adrese|aadress|כתובת|آدرس|نشانی|पता|ঠিকানা|ที่อยู่|địa chỉ|alamat|adreça"
    "|العنوان"
    "|عنوان المكتب|本社所在地|会場住所|地址|店铺地址|standortadresse|geschäftsadresse|firmensitz|sede legale"
    "|siège social",
    "city": "wohnort|град|grad|mesto|miestas|pilsēta|linn|עיר|شهر|शहर|เมือง|จังหวัด|thành phố|kota|bandar"
    "|município|concelho"
    "|municipio|gemeinde|commune|gemeente|市区町村|دولة ومدينة",
    "postal_code": "пощенски код|poštanski broj|poštová|pašto kodas|pasta indekss|מיקוד|کد پستی|पिन कोड"
    "|รหัสไปรษณีย์|mã bưu điện|kode pos",
    "country": "държава|zemlja|država|krajina|šalis|valsts|riik|מדינה|کشور|देश|ประเทศ|quốc gia|negara",
    "phone": "contact number|kontakt telefon|téléphone fixe|contacto|telefone de contato|celular|telemóvel|móvil"
    "|contatto"
    "|телефон за връзка|telefon|telefón|telefonas|tālrunis|טלפון|تلفن|شماره تماس|फ़ोन|फोन|ফোন|โทร|โทรศัพท์|เบอร์โทร"
    "|điện thoại"
    "|sđt|telepon|no telp|hp|telèfon|お電話|ＴＥＬ|tel番号|代表電話|جوال|موبايل|للتواصل|للاتصال",
    "email": "имейл|e pošta|el paštas|e pasts|e post|אימייל|דואל|דואר אלקטרוני|ایمیل|ईमेल|อีเมล|thư điện tử|surel"
    "|correu|eメール"
    "|お問い合わせ先メール|البريد",
    "opening_hours": "geöffnet|sprechzeiten|работно време|radno vrijeme|otváracie hodiny|delovni čas|darbo laikas"
    "|darba laiks"
    "|lahtiolekuajad|שעות פתיחה|ساعات کاری|समय|เวลาทำการ|เวลาเปิด|giờ mở cửa|jam buka|jam operasional|受付時間"
    "|開館時間|診療時間"
    "|horário de atendimento|أوقات العمل|مواعيد العمل",
    "language": "език|jezik|jazyk|kalba|valoda|keel|שפה|زبان|भाषा|ภาษา|ngôn ngữ|bahasa|使用言語",
    "publisher": "издателство|nakladnik|izdavač|vydavateľ|leidėjas|izdevējs|kirjastus|מוציא לאור|הוצאה|ناشر"
    "|انتشارات|प्रकाशक"
    "|สำนักพิมพ์|nhà xuất bản|penerbit|配給|発売元|レーベル",
    "pages": "страници|broj stranica|počet strán|puslapiai|lappuses|lehekülgi|מספר עמודים|تعداد صفحات|पृष्ठ"
    "|จำนวนหน้า|số trang"
    "|jumlah halaman|ページ|umfang|nº de páginas|n pagine",
    "ingredients": "съставки|необходими продукти|sastojci|ingrediencie|sestavine|ingredientai|sastāvdaļas"
    "|koostisosad|מצרכים"
    "|רכיבים|مواد لازم|सामग्री|উপকরণ|ส่วนผสม|วัตถุดิบ|nguyên liệu|bahan|bahan bahan|ingredients necessaris|材料人分"
    "|材料2人分"
    "|材料4人分|المكوّنات",
    "instructions": "начин на приготвяне|priprema|postup prípravy|priprava|gaminimas|pagatavošana|valmistamine"
    "|אופן ההכנה|הכנה"
    "|طرز تهیه|विधि|बनाने की विधि|बनाने का तरीका|প্রণালী|วิธีทำ|cách làm|cách nấu|cara membuat|langkah langkah"
    "|作り方手順|レシピ"
    "|طريقة التحضير والطهي|خطوات التحضير",
    "yield": "порции|porcije|porcií|porcijų|porcijas|מנות|כמות|تعداد نفرات|परोसें|मात्रा|सर्विंग|จำนวนที่เสิร์ฟ"
    "|สำหรับ|khẩu phần|porsi"
    "|untuk|serve|porção|rende|できあがり量|تكفي",
    "prep_time": "време за подготовка|vrijeme pripreme|čas prípravy|זמן הכנה|तैयारी का समय|เวลาเตรียม"
    "|thời gian chuẩn bị|waktu persiapan"
    "|下準備",
    "cook_time": "време за готвене|vrijeme kuhanja|זמן בישול|पकाने का समय|เวลาปรุง|thời gian nấu|waktu memasak"
    "|zeit im ofen",
    "total_time": "общо време|ukupno vrijeme|זמן כולל|कुल समय|เวลารวม|tổng thời gian|waktu total"
    "|zubereitungszeit gesamt|調理時間合計"
    "|tempo de preparo total",
    "duration": "продължителност|trajanje|trukmė|ilgums|kestus|משך|مدت|अवधि|ระยะเวลา|thời lượng|thời gian|durasi"
    "|上映時間|収録時間"
    "|reisedauer|مدة|مدة العرض",
    "start_date": "дата на събитието|početak|začiatok|pradžia|sākums|algus|מתי|שעה ותאריך|زمان|कब|เริ่ม|bắt đầu"
    "|mulai|waktu"
    "|開催日時|開催期間|公演日|inicia em|data do evento|data e hora|data e horário|data ora|date et heure|fecha y hora"
    "|tid och plats|dato og tid|datum a čas|data i godzina|дата и время|дата проведения|tarih ve saat"
    "|التاريخ والوقت|موعد|日期时间"
    "|일시|veranstaltungsdatum|beginn der veranstaltung|datum tijd|datum en tijd|data wydarzenia|reisetermin|abfahrt",
    "end_date": "край|kraj dogadaja|pabaiga|beigas|lõpp|סיום|پایان|สิ้นสุด|kết thúc|selesai|終了日時|până la",
    "location": "място|mjesto|miesto|kraj dogodka|vieta|koht|מיקום|היכן|مکان|محل|स्थान|জায়গা|สถานที่|địa điểm|nơi"
    "|lokasi|tempat"
    "|veranstaltungsstätte|treffpunkt|startpunkt|開催場所|開催地|所在|مكان|مكان الفعالية|punto de encuentro"
    "|local do evento",
    "venue": "veranstaltungshaus|מקום|כניסה|venue name|会場名|القاعة",
    "organizer": "организатор|organizatori|organizátori|organizatorius|rīkotājs|korraldaja|מארגן|برگزار کننده"
    "|आयोजक|ผู้จัด|đơn vị tổ chức"
    "|ban tổ chức|penyelenggara|promotor|organização|realizado por|主催団体|تنظيم",
    "salary": "заплата|plaća|plat|plača|atlyginimas|alga|palk|שכר|משכורת|حقوق|دستمزد|वेतन|เงินเดือน|lương"
    "|mức lương|gaji|sou"
    "|faixa salarial|jahresgehalt|monatsgehalt|給与年収|想定年収|基本給|المرتب|الأجر",
    "company": "компания|фирма|tvrtka|spoločnosť|podjetje|įmonė|uzņēmums|ettevõte|חברה|מעסיק|شرکت|कंपनी|บริษัท|công ty"
    "|nhà tuyển dụng|perusahaan|syarikat|事業者名|社名|募集企業|اسم الشركة|المؤسسة|صاحب العمل",
    "employment_type": "вид заетост|vrsta zaposlenja|typ úväzku|darbo tipas|היקף משרה|סוג משרה|نوع همکاری"
    "|रोजगार प्रकार|ประเภทงาน"
    "|hình thức làm việc|loại hình|jenis pekerjaan|tipe pekerjaan|tipo de vaga|regime de contratação"
    "|tipo de contratação"
    "|umfang der stelle|arbeitszeit|勤務形態|契約形態|نوع التوظيف|نوع الدوام|الدوام",
    "job_location": "място на работа|mjesto rada|miesto výkonu práce|darbo vieta|מקום עבודה|محل کار|कार्यस्थल"
    "|สถานที่ทำงาน"
    "|nơi làm việc|địa điểm làm việc|lokasi kerja|penempatan|localização da vaga|cidade da vaga|勤務場所|就業場所"
    "|موقع العمل",
    "valid_through": "краен срок|rok za prijavu|uzávierka|מועד אחרון|مهلت|अंतिम तिथि|หมดเขต|hạn nộp|hạn nộp hồ sơ"
    "|batas waktu"
    "|inscrições até|応募期限|申込締切|آخر موعد للتقديم",
    "weight": "net weight|nettogewicht|poids net|peso neto|peso netto|peso líquido|内容量|正味量|тегло|težina"
    "|hmotnosť|teža|svoris|svars|kaal|משקל|وزن|वजन|वज़न|น้ำหนัก|khối lượng|trọng lượng|berat|pes",
    "color": "colour finish|außenfarbe|farbton|цвят|boja|farba|spalva|krāsa|värv|צבע|رنگ|रंग|สี|màu|màu sắc|warna"
    "|ボディカラー|車体色"
    "|カラー名|외장색",
    "size": "größe in cm|размери"
    "|размеры|veličina|veľkosť|dydis|izmērs|suurus|גודל|מידה|اندازه|سایز|आकार|ขนาด|kích thước|ukuran|大きさ|الحجم"
    "|المقاسات",
    "material": "materials|medium|materialien|werkstoff|material und technik|matériaux|materiales|materiali|materiais"
    "|материалы|материал|materijal|medžiaga|materiāls|חומר|جنس|सामग्री प्रकार|वस्तु|วัสดุ|chất liệu|bahan material"
    "|材料材質|材質・素材"
    "|المادة|مادة الصنع|composición|composizione|composição",
    "model": "модел|modelis|mudel|דגם|مدل|मॉडल|รุ่น|mẫu|kiểu|tipe|型式|車名|الطراز",
    "license": "лиценз|licenca|licencia použitia|רישיון|مجوز|लाइसेंस|สัญญาอนุญาต|giấy phép|lisensi|ライセンス情報"
    "|nutzungsrechte|rights"
    "|droits|derechos|diritti|direitos|rechten",
    "version": "версия|verzija|verzia|versija|גרסה|نسخه|संस्करण|เวอร์ชัน|phiên bản|versi|release",
}
