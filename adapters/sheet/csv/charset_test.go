package csv_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/atrium-hq/atrium/adapters/sheet/csv"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// texts are tables in the languages of their keys.
var texts = map[string]string{
	"ru": "Имя;Фамилия;Город;Почта\nИван;Петров;Москва;ivan@example.com\nОльга;Сидорова;Санкт-Петербург;olga@example.com\nСергей;Кузнецов;Новосибирск;s@example.com\nНаталья;Смирнова;Екатеринбург;n@example.com\nДмитрий;Васильев;Казань;d@example.com\n",
	"uk": "Ім'я;Прізвище;Місто\nІван;Шевченко;Київ\nОлена;Коваленко;Львів\nЇжакевич;Бондаренко;Вінниця\nЮлія;Ткаченко;Харків\n",
	"pl": "Imię;Nazwisko;Miasto;Ulica\nMałgorzata;Wójcik;Łódź;ul. Świętokrzyska 5\nPaweł;Kowalski;Kraków;ul. Długa 3\nŻaneta;Źrebiec;Gdańsk;Plac Wolności\nStanisław;Dąbrowski;Poznań;al. Niepodległości\n",
	"cs": "Jméno;Příjmení;Město\nJiří;Novák;Praha\nLukáš;Dvořák;Plzeň\nTomáš;Černý;Brno\nŽofie;Růžičková;Ústí nad Labem\n",
	"hu": "Név;Város;Cím\nKovács László;Győr;Fő utca 3\nSzűcs Ágnes;Székesfehérvár;Ősz utca\nTóth Béla;Pécs;Kőműves köz\n",
	"de": "Vorname;Nachname;Straße;Ort\nJürgen;Müller;Hauptstraße 5;Köln\nBjörn;Schröder;Bäckerweg 2;München\nÄnne;Weiß;Grünstraße 1;Düsseldorf\n",
	"fr": "Prénom;Nom;Adresse;Ville\nFrançois;Lefèvre;5 rue de l'Église;Béziers\nHélène;Dupré;3 allée des Chênes;Orléans\nÉlodie;Gérard;12 boulevard Édouard;Besançon\n",
	"es": "Nombre;Apellido;Dirección;Teléfono\nJosé;Muñoz;Calle Peña 5;555\nMaría;Gutiérrez;Avenida Constitución;556\nÁngel;Núñez;Plaza España;557\n",
	"tr": "Ad;Soyad;Şehir\nAyşe;Yılmaz;İstanbul\nMehmet;Öztürk;Eskişehir\nGülşen;Çağlar;Muğla\n",
	"el": "Όνομα;Επώνυμο;Πόλη\nΓιώργος;Παπαδόπουλος;Αθήνα\nΜαρία;Νικολάου;Θεσσαλονίκη\nΔημήτρης;Γεωργίου;Πάτρα\n",
	"he": "שם;עיר;כתובת\nדוד כהן;תל אביב;רחוב הרצל\nשרה לוי;ירושלים;רחוב יפו\n",
	"ja": "氏名;都道府県;住所;電話\n山田太郎;東京都;千代田区丸の内一丁目;03\n佐藤花子;大阪府;大阪市北区梅田;06\n鈴木一郎;愛知県;名古屋市中区栄;052\nタナカ　ヨウコ;北海道;札幌市中央区;011\n",
	"zh": "姓名;城市;地址;电话\n张伟;北京;朝阳区建国路一号;010\n王芳;上海;浦东新区世纪大道;021\n李娜;广州;天河区体育西路;020\n刘洋;深圳;南山区科技园;0755\n",
	"tw": "姓名;城市;地址\n張偉;臺北;信義區市府路一號\n王芳;高雄;苓雅區四維三路\n陳美玲;臺中;西屯區臺灣大道\n",
	"ko": "이름;도시;주소\n김민수;서울;강남구 테헤란로\n이영희;부산;해운대구 우동\n박지훈;대구;수성구 범어동\n최수진;인천;연수구 송도동\n",
}

func TestCodePagesAreDetected(t *testing.T) {
	for _, tt := range []struct {
		lang, want string
		set        encoding.Encoding
	}{
		{"ru", "windows-1251", charmap.Windows1251}, {"ru", "koi8-r", charmap.KOI8R},
		{"ru", "x-mac-cyrillic", charmap.MacintoshCyrillic}, {"uk", "windows-1251", charmap.Windows1251},
		{"pl", "windows-1250", charmap.Windows1250}, {"pl", "iso-8859-2", charmap.ISO8859_2},
		{"cs", "windows-1250", charmap.Windows1250}, {"hu", "windows-1250", charmap.Windows1250},
		{"de", "windows-1252", charmap.Windows1252}, {"de", "macintosh", charmap.Macintosh},
		{"fr", "windows-1252", charmap.Windows1252}, {"fr", "macintosh", charmap.Macintosh},
		{"es", "windows-1252", charmap.Windows1252}, {"es", "macintosh", charmap.Macintosh},
		{"tr", "windows-1254", charmap.Windows1254}, {"el", "windows-1253", charmap.Windows1253},
		{"he", "windows-1255", charmap.Windows1255}, {"ja", "shift_jis", japanese.ShiftJIS},
		{"ja", "euc-jp", japanese.EUCJP}, {"zh", "gb18030", simplifiedchinese.GB18030},
		{"zh", "gb18030", simplifiedchinese.GBK}, {"tw", "big5", traditionalchinese.Big5},
		{"ko", "euc-kr", korean.EUCKR},
	} {
		for _, times := range []int{1, 30} {
			for name, comma := range map[string]string{"semicolon": ";", "comma": ",", "tab": "\t"} {
				t.Run(fmt.Sprint(tt.lang, " in ", tt.want, ", ", times, " times, with a ", name), func(t *testing.T) {
					text := strings.Repeat(strings.ReplaceAll(texts[tt.lang], ";", comma), times)
					content, err := tt.set.NewEncoder().String(text)
					require.NoError(t, err)
					s, err := read(content, source.SheetLocation{HeaderRow: 1})
					require.NoError(t, err)
					if s.Charset != tt.want || s.Delimiter != name {
						t.Errorf("read as %s with %q", s.Charset, s.Delimiter)
					}
					want := strings.Split(strings.SplitN(text, "\n", 2)[0], comma)
					assert.EqualSlice(t, "header", shown(s)[0], want)
				})
			}
		}
	}
}

func TestACharsetAndADelimiterReplaceTheDetectedOnes(t *testing.T) {
	s, err := read("\xd0,x;y\n1,2;3\n", source.SheetLocation{HeaderRow: 1, Charset: "windows-1254",
		Delimiter: "semicolon"})
	require.NoError(t, err)
	if got := shown(s)[0]; !slices.Equal(got, []string{"Ğ,x", "y"}) || s.Charset != "windows-1254" ||
		s.Delimiter != "semicolon" {
		t.Errorf("%q, %s, %s", got, s.Charset, s.Delimiter)
	}
	content := []byte("\xd0;1\n")
	err = csv.Rows(bytes.NewReader(content), int64(len(content)), source.SheetLocation{Charset: "windows-1254",
		Delimiter: "comma"}, func(_ int, shownCells, _ []*string) error {
		if len(shownCells) != 1 || *shownCells[0] != "Ğ;1" {
			t.Errorf("%v", shownCells)
		}
		return nil
	})
	assert.NoError(t, err)
	if _, err := read("a,b\n", source.SheetLocation{Charset: "x-unknown"}); !errors.Is(err,
		source.ErrUnsupportedFormat) {
		t.Errorf("a charset that does not exist: %v", err)
	}
}

func TestAQuoteThatIsNeverClosedIsAnErrorWithItsLine(t *testing.T) {
	for content, line := range map[string]string{
		"Name,City\nAnn,Oslo\nBob,\"Rome\nEve,Bern\n": "line 3 ",
		"\"":                               "line 1 ",
		"a,b\n1,\"two\nlines\"\n2,\"x\"\"": "line 4 ",
		"a\r\"b\rc\r":                      "line 2 ",
	} {
		_, preview := read(content, source.SheetLocation{HeaderRow: 1})
		rows := csv.Rows(strings.NewReader(content), int64(len(content)), source.SheetLocation{},
			func(int, []*string, []*string) error { return nil })
		for _, err := range []error{preview, rows} {
			if !errors.Is(err, source.ErrUnsupportedFormat) || !strings.Contains(err.Error(), line) {
				t.Errorf("%q: %v, want %s", content, err, line)
			}
		}
	}
	for _, content := range []string{"a,b\n1,\"two\nlines\"\n", "a,b\n1,5\" wide", "a\n\"x \"y\" z\"\n"} {
		if _, err := read(content, source.SheetLocation{HeaderRow: 1}); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestEmptyLinesAreRows(t *testing.T) {
	const content = "\n\r\nMail,Name\na@x.io,A\n\nb@x.io,\"B\nC\"\n\n\nc@x.io,D\n"
	s, err := read(content, source.SheetLocation{})
	if err != nil || s.Preview.HeaderRow != 3 || s.Tab.Rows != 9 {
		t.Fatalf("header row %d of %d, %v", s.Preview.HeaderRow, s.Tab.Rows, err)
	}
	if s, err = read(content, source.SheetLocation{HeaderRow: 3}); err != nil || shown(s)[0][0] != "Mail" {
		t.Errorf("%v, %v", shown(s), err)
	}
	var numbers []int
	err = csv.Rows(strings.NewReader(content), int64(len(content)), source.SheetLocation{},
		func(number int, _, _ []*string) error {
			numbers = append(numbers, number)
			return nil
		})
	if err != nil || !slices.Equal(numbers, []int{3, 4, 6, 9}) {
		t.Errorf("rows %v, %v", numbers, err)
	}
}

func TestEveryCharsetOfTheContractIsKnown(t *testing.T) {
	text, err := os.ReadFile("../../rest/openapi/spec/sources.yaml")
	require.NoError(t, err)
	list := regexp.MustCompile(`enum: \[(utf-8, .*)\]`).FindSubmatch(text)
	if list == nil {
		t.Fatal("no list of charsets")
	}
	for name := range strings.SplitSeq(string(list[1]), ", ") {
		if s, err := read("a,b\n1,2\n", source.SheetLocation{Charset: name}); err != nil || s.Charset != name {
			t.Errorf("%s: %s, %v", name, s.Charset, err)
		}
	}
}
