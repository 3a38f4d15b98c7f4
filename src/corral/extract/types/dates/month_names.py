"""Names of the months by language, from CLDR; a test compares the table with Babel.

A table in the code spares loading locales, 5 to 30 ms each. For a page of unknown language, dozens would be needed.
"""

# One line per language: the months, separated by `|`; names of one month by a space.
MONTH_NAMES = {
    "en": (
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep|october "
        "oct|november nov|december dec"
    ),
    "de": (
        "januar jan|februar feb|märz mär|april apr|mai|juni jun|juli jul|august aug|september sept sep|"
        "oktober okt|november nov|dezember dez"
    ),
    "fr": (
        "janvier janv|février févr|mars|avril avr|mai|juin|juillet juil|août|septembre sept|octobre oct|"
        "novembre nov|décembre déc"
    ),
    "es": (
        "enero ene|febrero feb|marzo mar|abril abr|mayo may|junio jun|julio jul|agosto ago|septiembre sept|"
        "octubre oct|noviembre nov|diciembre dic"
    ),
    "it": (
        "gennaio gen|febbraio feb|marzo mar|aprile apr|maggio mag|giugno giu|luglio lug|agosto ago|settembre "
        "set|ottobre ott|novembre nov|dicembre dic"
    ),
    "pt": (
        "janeiro jan|fevereiro fev|março mar|abril abr|maio mai|junho jun|julho jul|agosto ago|setembro set|"
        "outubro out|novembro nov|dezembro dez"
    ),
    "nl": (
        "januari jan|februari feb|maart mrt|april apr|mei|juni jun|juli jul|augustus aug|september sep|"
        "oktober okt|november nov|december dec"
    ),
    "sv": (
        "januari jan|februari feb|mars|april apr|maj|juni|juli|augusti aug|september sep|oktober okt|"
        "november nov|december dec"
    ),
    "nb": (
        "januar jan|februar feb|mars mar|april apr|mai|juni jun|juli jul|august aug|september sep|oktober "
        "okt|november nov|desember des"
    ),
    "da": (
        "januar jan|februar feb|marts mar|april apr|maj|juni jun|juli jul|august aug|september sep|oktober "
        "okt|november nov|december dec"
    ),
    "fi": (
        "tammikuuta tammi tammikuu|helmikuuta helmi helmikuu|maaliskuuta maalis maaliskuu|huhtikuuta huhti "
        "huhtikuu|toukokuuta touko toukokuu|kesäkuuta kesä kesäkuu|heinäkuuta heinä heinäkuu|elokuuta elo "
        "elokuu|syyskuuta syys syyskuu|lokakuuta loka lokakuu|marraskuuta marras marraskuu|joulukuuta joulu "
        "joulukuu"
    ),
    "is": (
        "janúar jan|febrúar feb|mars mar|apríl apr|maí|júní jún|júlí júl|ágúst ágú|september sep|október okt|"
        "nóvember nóv|desember des"
    ),
    "pl": (
        "stycznia sty styczeń|lutego lut luty|marca mar marzec|kwietnia kwi kwiecień|maja maj|czerwca cze "
        "czerwiec|lipca lip lipiec|sierpnia sie sierpień|września wrz wrzesień|października paź październik|"
        "listopada lis listopad|grudnia gru grudzień"
    ),
    "cs": (
        "ledna led leden|února úno únor|března bře březen|dubna dub duben|května kvě květen|června čvn "
        "červen|července čvc červenec|srpna srp srpen|září zář|října říj říjen|listopadu lis listopad|"
        "prosince pro prosinec"
    ),
    "sk": (
        "januára jan január|februára feb február|marca mar marec|apríla apr apríl|mája máj|júna jún|júla júl|"
        "augusta aug august|septembra sep september|októbra okt október|novembra nov november|decembra dec "
        "december"
    ),
    "sl": (
        "januar jan|februar feb|marec mar|april apr|maj|junij jun|julij jul|avgust avg|september sep|oktober "
        "okt|november nov|december dec"
    ),
    "hr": (
        "siječnja sij siječanj|veljače velj veljača|ožujka ožu ožujak|travnja tra travanj|svibnja svi "
        "svibanj|lipnja lip lipanj|srpnja srp srpanj|kolovoza kol kolovoz|rujna ruj rujan|listopada lis "
        "listopad|studenoga stu studeni|prosinca pro prosinac"
    ),
    "sr": (
        "јануар јан|фебруар феб|март мар|април апр|мај|јун|јул|август авг|септембар сеп|октобар окт|новембар "
        "нов|децембар дец"
    ),
    "bg": (
        "януари яну|февруари фев|март|април апр|май|юни|юли|август авг|септември сеп|октомври окт|ноември "
        "ное|декември дек"
    ),
    "ru": (
        "января янв январь|февраля февр февраль|марта мар март|апреля апр апрель|мая май|июня июн июнь|июля "
        "июл июль|августа авг август|сентября сент сентябрь|октября окт октябрь|ноября нояб ноябрь|декабря "
        "дек декабрь"
    ),
    "uk": (
        "січня січ січень|лютого лют лютий|березня бер березень|квітня квіт квітень|травня трав травень|"
        "червня черв червень|липня лип липень|серпня серп серпень|вересня вер вересень|жовтня жовт жовтень|"
        "листопада лист листопад|грудня груд грудень"
    ),
    "be": (
        "студзеня сту студзень|лютага лют люты|сакавіка сак сакавік|красавіка кра красавік|мая май|чэрвеня "
        "чэр чэрвень|ліпеня ліп ліпень|жніўня жні жнівень|верасня вер верасень|кастрычніка кас кастрычнік|"
        "лістапада ліс лістапад|снежня сне снежань"
    ),
    "mk": (
        "јануари јан|февруари фев|март мар|април апр|мај|јуни јун|јули јул|август авг|септември сеп|октомври "
        "окт|ноември ное|декември дек"
    ),
    "ro": (
        "ianuarie ian|februarie feb|martie mar|aprilie apr|mai|iunie iun|iulie iul|august aug|septembrie "
        "sept|octombrie oct|noiembrie nov|decembrie dec"
    ),
    "hu": (
        "január jan|február febr|március márc|április ápr|május máj|június jún|július júl|augusztus aug|"
        "szeptember szept|október okt|november nov|december dec"
    ),
    "el": (
        "ιανουαρίου ιαν ιανουάριοσ|φεβρουαρίου φεβ φεβρουάριοσ|μαρτίου μαρ μάρτιοσ μάρ|απριλίου απρ απρίλιοσ|"
        "μαΐου μαΐ μάιοσ μάι|ιουνίου ιουν ιούνιοσ ιούν|ιουλίου ιουλ ιούλιοσ ιούλ|αυγούστου αυγ αύγουστοσ "
        "αύγ|σεπτεμβρίου σεπ σεπτέμβριοσ|οκτωβρίου οκτ οκτώβριοσ|νοεμβρίου νοε νοέμβριοσ νοέ|δεκεμβρίου δεκ "
        "δεκέμβριοσ"
    ),
    "tr": (
        "ocak oca|şubat şub|mart mar|nisan nis|mayıs may|haziran haz|temmuz tem|ağustos ağu|eylül eyl|ekim "
        "eki|kasım kas|aralık ara"
    ),
    "az": (
        "yanvar yan|fevral fev|mart mar|aprel apr|may|iyun iyn|iyul iyl|avqust avq|sentyabr sen|oktyabr okt|"
        "noyabr noy|dekabr dek"
    ),
    "et": (
        "jaanuar jaan yanvar yan|veebruar veebr fevral fev|märts mart mar|aprill apr aprel|mai may|juuni "
        "iyun iyn|juuli iyul iyl|august aug avqust avq|september sept sentyabr sen|oktoober okt oktyabr|"
        "november nov noyabr noy|detsember dets dekabr dek"
    ),
    "lv": (
        "janvāris janv yanvar yan|februāris febr fevral fev|marts mart mar|aprīlis apr aprel|maijs may|"
        "jūnijs jūn iyun iyn|jūlijs jūl iyul iyl|augusts aug avqust avq|septembris sept sentyabr sen|"
        "oktobris okt oktyabr|novembris nov noyabr noy|decembris dec dekabr dek"
    ),
    "lt": (
        "sausio saus sausis yan|vasario vas vasaris fev|kovo kov kovas mar|balandžio bal balandis apr|"
        "gegužės geg gegužė may|birželio birž birželis iyn|liepos liep liepa iyl|rugpjūčio rugp rugpjūtis "
        "avq|rugsėjo rugs rugsėjis sen|spalio spal spalis okt|lapkričio lapkr lapkritis noy|gruodžio gruod "
        "gruodis dek"
    ),
    "sq": (
        "janar jan yanvar yan|shkurt shk fevral fev|mars mar mart|prill pri aprel apr|maj may|qershor qer "
        "iyun iyn|korrik korr iyul iyl|gusht gush avqust avq|shtator sht sentyabr sen|tetor tet oktyabr okt|"
        "nëntor nën noyabr noy|dhjetor dhj dekabr dek"
    ),
    "ca": (
        "gener gen|febrer febr|març|d’abril d’abr abril abr|maig|juny|juliol jul|d’agost d’ag agost ag|"
        "setembre set|d’octubre d’oct octubre oct|novembre nov|desembre des"
    ),
    "gl": (
        "xaneiro xan yanvar yan|febreiro feb fevral fev|marzo mar mart|abril abr aprel apr|maio may|xuño "
        "iyun iyn|xullo xul iyul iyl|agosto ago avqust avq|setembro set sentyabr sen|outubro out oktyabr okt|"
        "novembro nov noyabr noy|decembro dec dekabr dek"
    ),
    "eu": (
        "urtarrila urt yanvar yan|otsaila ots fevral fev|martxoa mar mart|apirila api aprel apr|maiatza mai "
        "may|ekaina eka iyun iyn|uztaila uzt iyul iyl|abuztua abu avqust avq|iraila ira sentyabr sen|urria "
        "urr oktyabr okt|azaroa aza noyabr noy|abendua abe dekabr dek"
    ),
    "cy": (
        "ionawr ion yanvar|chwefror chwef fevral chw|mawrth maw mart|ebrill ebr aprel|mai may|mehefin meh "
        "iyun|gorffennaf gorff iyul gor|awst avqust|medi sentyabr|hydref hyd oktyabr|tachwedd tach noyabr|"
        "rhagfyr rhag dekabr"
    ),
    "ga": (
        "eanáir ean yanvar yan|feabhra feabh fevral fev|márta mart mar|aibreán aib aprel apr|bealtaine beal "
        "may|meitheamh meith iyun iyn|iúil iyul iyl|lúnasa lún avqust avq|mfómh sentyabr sen|dfómh oktyabr "
        "okt|samhain samh noyabr noy|nollaig noll dekabr dek"
    ),
    "af": (
        "januarie jan yanvar yan|februarie feb fevral fev|maart mrt mart mar|april apr aprel|mei may|junie "
        "jun iyun iyn|julie jul iyul iyl|augustus aug avqust avq|september sep sentyabr sen|oktober okt "
        "oktyabr|november nov noyabr noy|desember des dekabr dek"
    ),
    "ar": (
        "يناير yanvar yan|فبراير fevral fev|مارس mart mar|أبريل aprel apr|مايو may|يونيو iyun iyn|يوليو iyul "
        "iyl|أغسطس avqust avq|سبتمبر sentyabr sen|أكتوبر oktyabr okt|نوفمبر noyabr noy|ديسمبر dekabr dek"
    ),
    "he": (
        "ינואר ינו׳ yanvar yan|פברואר פבר׳ fevral fev|מרץ mart mar|אפריל אפר׳ aprel apr|מאי may|יוני iyun "
        "iyn|יולי iyul iyl|אוגוסט אוג׳ avqust avq|ספטמבר ספט׳ sentyabr sen|אוקטובר אוק׳ oktyabr okt|נובמבר "
        "נוב׳ noyabr noy|דצמבר דצמ׳ dekabr dek"
    ),
    "fa": (
        "ژانویهٔ ژانویه yan|فوریهٔ فوریه fev|مارس mar|آوریل apr|مهٔ مه may|ژوئن iyn|ژوئیهٔ ژوئیه iyl|اوت avq|"
        "سپتامبر sen|اکتبر okt|نوامبر noy|دسامبر dek"
    ),
    "hi": (
        "जनवरी जन॰ yanvar yan|फ़रवरी फ़र॰ fevral fev|मार्च mart mar|अप्रैल aprel apr|मई may|जून iyun iyn|"
        "जुलाई जुल॰ iyul iyl|अगस्त अग॰ avqust avq|सितंबर सित॰ sentyabr sen|अक्टूबर अक्टू॰ oktyabr okt|नवंबर "
        "नव॰ noyabr noy|दिसंबर दिस॰ dekabr dek"
    ),
    "bn": (
        "জানুয়ারী জানু yanvar|ফেব্রুয়ারী ফেব fevral|মার্চ mart|এপ্রিল এপ্রি aprel|মে may|জুন iyun|জুলাই "
        "জুল iyul|আগস্ট আগ avqust|সেপ্টেম্বর সেপ sentyabr|অক্টোবর অক্টো oktyabr|নভেম্বর নভে noyabr|ডিসেম্বর "
        "ডিসে dekabr"
    ),
    "ta": (
        "ஜனவரி ஜன yanvar yan|பிப்ரவரி பிப் fevral fev|மார்ச் மார் mart mar|ஏப்ரல் ஏப் aprel apr|மே may|ஜூன் "
        "iyun iyn|ஜூலை iyul iyl|ஆகஸ்ட் ஆக avqust avq|செப்டம்பர் செப் sentyabr sen|அக்டோபர் அக் oktyabr okt|"
        "நவம்பர் நவ noyabr noy|டிசம்பர் டிச dekabr dek"
    ),
    "th": (
        "มกราคม ม.ค yanvar yan|กุมภาพันธ์ ก.พ fevral fev|มีนาคม มี.ค mart mar|เมษายน เม.ย aprel apr|พฤษภาคม "
        "พ.ค may|มิถุนายน มิ.ย iyun iyn|กรกฎาคม ก.ค iyul iyl|สิงหาคม ส.ค avqust avq|กันยายน ก.ย sentyabr sen|"
        "ตุลาคม ต.ค oktyabr okt|พฤศจิกายน พ.ย noyabr noy|ธันวาคม ธ.ค dekabr dek"
    ),
    "id": (
        "januari jan yanvar yan|februari feb fevral fev|maret mar mart|april apr aprel|mei may|juni jun iyun "
        "iyn|juli jul iyul iyl|agustus agu avqust avq|september sep sentyabr sen|oktober okt oktyabr|"
        "november nov noyabr noy|desember des dekabr dek"
    ),
    "ms": (
        "januari jan yanvar yan|februari feb fevral fev|mac mart mar|april apr aprel|mei may|jun iyun iyn|"
        "julai jul iyul iyl|ogos ogo avqust avq|september sep sentyabr sen|oktober okt oktyabr|november nov "
        "noyabr noy|disember dis dekabr dek"
    ),
    "sw": (
        "januari jan yanvar yan|februari feb fevral fev|machi mac mart mar|aprili apr aprel|mei may|juni jun "
        "iyun iyn|julai jul iyul iyl|agosti ago avqust avq|septemba sep sentyabr sen|oktoba okt oktyabr|"
        "novemba nov noyabr noy|desemba des dekabr dek"
    ),
    "tl": (
        "enero ene yanvar yan|pebrero peb fevral fev|marso mar mart|abril abr aprel apr|mayo may|hunyo hun "
        "iyun iyn|hulyo hul iyul iyl|agosto ago avqust avq|setyembre set sentyabr sen|oktubre okt oktyabr|"
        "nobyembre nob noyabr noy|disyembre dis dekabr dek"
    ),
    "ka": (
        "იანვარი იან yanvar yan|თებერვალი თებ fevral fev|მარტი მარ mart mar|აპრილი აპრ aprel apr|მაისი მაი "
        "may|ივნისი ივნ iyun iyn|ივლისი ივლ iyul iyl|აგვისტო აგვ avqust avq|სექტემბერი სექ sentyabr sen|"
        "ოქტომბერი ოქტ oktyabr okt|ნოემბერი ნოე noyabr noy|დეკემბერი დეკ dekabr dek"
    ),
    "hy": (
        "հունվարի հնվ հունվար yan|փետրվարի փտվ փետրվար fev|մարտի մրտ մարտ mar|ապրիլի ապր ապրիլ apr|մայիսի "
        "մյս մայիս may|հունիսի հնս հունիս iyn|հուլիսի հլս հուլիս iyl|օգոստոսի օգս օգոստոս avq|սեպտեմբերի սեպ "
        "սեպտեմբեր sen|հոկտեմբերի հոկ հոկտեմբեր okt|նոյեմբերի նոյ նոյեմբեր noy|դեկտեմբերի դեկ դեկտեմբեր dek"
    ),
    "kk": (
        "қаңтар қаң yan|ақпан ақп fev|наурыз нау mar|сәуір сәу apr|мамыр мам may|маусым мау iyn|шілде шіл "
        "iyl|тамыз там avq|қыркүйек қыр sen|қазан қаз okt|қараша қар noy|желтоқсан жел dek"
    ),
}
