package csv

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	utf "golang.org/x/text/encoding/unicode"

	"github.com/atrium-hq/atrium/domain/source"
)

// charset returns the encoding of a text and its name in the WHATWG Encoding Standard: the requested one, or else the
// most likely one for the first bytes of the text. ErrUnsupportedFormat if they are not text.
func charset(sample []byte, isWhole bool, charsetName string) (encoding.Encoding, string, error) {
	if charsetName != "" {
		return named(charsetName)
	}
	name := marked(sample)
	if name == "" {
		if !isWhole { // the last character may be cut
			for range utf8.UTFMax - 1 {
				if r, size := utf8.DecodeLastRune(sample); r != utf8.RuneError || size != 1 {
					break
				}
				sample = sample[:len(sample)-1]
			}
		}
		if name = "utf-8"; !isUTF8(sample) {
			name = codePage(sample)
		}
	}
	if name == noText {
		first := slices.IndexFunc(sample, isControl)
		return nil, "",
			source.ErrUnsupportedFormat.Because(fmt.Sprintf("The file is no text that Atrium can read: line %d "+
				"has a control character. Atrium reads .xlsx, .ods, .csv and .tsv files without a password.",
				1+bytes.Count(sample[:max(first, 0)], []byte{'\n'})))
	}
	return named(name)
}

// isUTF8 reports whether a text is UTF-8, of which a few characters may be damaged. Texts in code pages hardly have
// bytes that are characters in UTF-8.
func isUTF8(text []byte) bool {
	const enough = 2
	characters, damages := 0, 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch text = text[size:]; {
		case r == utf8.RuneError && size == 1:
			damages++
		case size > 1:
			characters++
		}
	}
	return damages == 0 || characters > enough*damages
}

// isControl reports whether a byte is a control character that texts do not have. ISO-2022-JP has ESC.
func isControl(b byte) bool {
	return b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != '\x1b'
}

// named returns an encoding of the WHATWG Encoding Standard. Byte order marks at a text's beginning are removed.
func named(name string) (encoding.Encoding, string, error) {
	switch name {
	case "utf-8":
		return utf.UTF8BOM, name, nil
	case "utf-16le":
		return utf.UTF16(utf.LittleEndian, utf.UseBOM), name, nil
	case "utf-16be":
		return utf.UTF16(utf.BigEndian, utf.UseBOM), name, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, "", source.ErrUnsupportedFormat
	}
	return e, name, nil
}

const noText = "binary"

// marked returns the encoding that a mark or the zeros in a text show, noText for what is no text, "" if neither.
func marked(sample []byte) string {
	switch {
	case bytes.HasPrefix(sample, []byte("\xef\xbb\xbf")):
		return "utf-8"
	case bytes.HasPrefix(sample, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(sample, []byte("\xfe\xff")):
		return "utf-16be"
	}
	var zeros [2]int // at even and odd places
	controls := 0
	for i, b := range sample {
		switch {
		case b == 0:
			zeros[i%2]++
		case isControl(b):
			controls++
		}
	}
	switch all := len(sample); {
	case controls*100 > all:
		return noText
	case zeros[1]*10 > all*4 && zeros[0]*100 < all: // Latin letters: a zero in every second place
		return "utf-16le"
	case zeros[0]*10 > all*4 && zeros[1]*100 < all:
		return "utf-16be"
	case zeros[0]+zeros[1] > 0:
		return noText
	}
	return ""
}

// codePages maps the detector's names of encodings that it recognises well to the names in the WHATWG Encoding
// Standard. The national variants are read as the larger sets that contain them.
var codePages = map[string]string{
	"Windows-1251": "windows-1251", "KOI8-R": "koi8-r", "MacCyrillic": "x-mac-cyrillic", "ISO-8859-5": "iso-8859-5",
	"IBM866": "ibm866", "Windows-1253": "windows-1253", "ISO-8859-7": "windows-1253", "Windows-1255": "windows-1255",
	"ISO-8859-8": "windows-1255", "Windows-1256": "windows-1256", "TIS-620": "windows-874", "MacRoman": "macintosh",
	"SHIFT_JIS": "shift_jis", "CP932": "shift_jis", "EUC-JP": "euc-jp", "ISO-2022-JP": "iso-2022-jp",
	"GB2312": "gb18030", "GBK": "gb18030", "GB18030": "gb18030", "Big5": "big5", "EUC-KR": "euc-kr", "CP949": "euc-kr",
	"Johab": "euc-kr",
}

// codePage returns the most likely encoding of a text that is not UTF-8. The detector cannot distinguish the code pages
// of languages with Latin letters, so these are chosen by the letters of the languages.
func codePage(sample []byte) string {
	if name, ok := codePages[chardet.Detect(sample).Encoding]; ok {
		return name
	}
	best, bestShare := "windows-1252", -1.0
	for _, page := range latin {
		text, err := page.set.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		letters := map[rune]int{}
		all := 0
		for _, r := range string(text) {
			if r >= utf8.RuneSelf {
				letters[unicode.ToLower(r)]++
				all++
			}
		}
		for _, alphabet := range page.alphabets {
			count := 0
			for r, n := range letters {
				if strings.ContainsRune(alphabet, r) || strings.ContainsRune(signs, r) {
					count += n
				}
			}
			if share := float64(count) / float64(all); share > bestShare {
				best, bestShare = page.name, share
			}
		}
	}
	return best
}

// signs are the signs of every language.
const signs = "€£§°–—‘’‚“”„«»…•™©®´\u00a0"

// latin are the code pages of languages with Latin letters, with the non-ASCII letters of each language. If several fit
// equally well, the first one is chosen.
var latin = []struct {
	name      string
	set       *charmap.Charmap
	alphabets []string
}{
	{"windows-1252", charmap.Windows1252, []string{
		"äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü¿¡ºª", "ãáàâçéêíóôõúüºª", "àèéìíîòóùú", "éëïóöüèêĳ", "åäöé", "æøåéü",
		"áðéíóúýþæö", "äõöüšž"}},
	{"windows-1250", charmap.Windows1250, polishToCroatian},
	{"windows-1254", charmap.Windows1254, []string{"çğıiöşüâîû"}},
	{"windows-1257", charmap.Windows1257, []string{"āčēģīķļņšūž", "ąčęėįšųūž", "äõöüšž"}},
	{"iso-8859-2", charmap.ISO8859_2, polishToCroatian},
	{"macintosh", charmap.Macintosh, []string{"äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü¿¡ºª"}},
}

// polishToCroatian are Polish, Czech and Slovak, Hungarian, Romanian, Croatian and Slovenian.
var polishToCroatian = []string{"ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľôŕ", "áéíóöőúüű", "ăâîşţ", "čćđšž"}
