package csv

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// charset guesses the encoding of a text: by its byte order mark, else by the positions of zeros in UTF-16 of Latin
// letters, else UTF-8 if it is valid, else Windows-1252. It returns nil if this is not text. whole means that the
// sample is the whole text, so that it ends with a complete character.
func charset(sample []byte, whole bool) encoding.Encoding {
	switch {
	case bytes.HasPrefix(sample, []byte("\xef\xbb\xbf")):
		return unicode.UTF8BOM
	case bytes.HasPrefix(sample, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(sample, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	var zeros [2]int // at even and odd places
	controls := 0
	for i, b := range sample {
		switch {
		case b == 0:
			zeros[i%2]++
		case b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f':
			controls++
		}
	}
	switch all := len(sample); {
	case controls*100 > all:
		return nil
	case zeros[1]*10 > all*4 && zeros[0]*100 < all:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case zeros[0]*10 > all*4 && zeros[1]*100 < all:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case zeros[0]+zeros[1] > 0:
		return nil
	}
	if !whole { // the last character may be cut
		for range utf8.UTFMax - 1 {
			if r, size := utf8.DecodeLastRune(sample); r != utf8.RuneError || size != 1 {
				break
			}
			sample = sample[:len(sample)-1]
		}
	}
	if utf8.Valid(sample) {
		return unicode.UTF8
	}
	return charmap.Windows1252
}
