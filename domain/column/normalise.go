package column

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normalise returns the form of a column's or field's name in which names are compared: words in lower
// case with single spaces, without accents and punctuation, abbreviations written out. It splits
// camelCase, snake_case and numbers: "Contact: E-Mail1" becomes "contact email 1".
func Normalise(name string) string { return strings.Join(words(name), " ") }

// words returns the words of Normalise.
func words(name string) []string {
	var all []string
	for _, w := range joined.Replace(split(name)) {
		if long, ok := abbreviations[w]; ok {
			all = append(all, long...)
			continue
		}
		all = append(all, w)
	}
	return joined.Replace(all) // those that were abbreviated, as in frst_nm
}

// split splits a name where the case or kind of its letters changes, and at each character that is not
// a letter or digit.
func split(name string) []string {
	var text []rune // the words, with a space between them
	length, last := 0, rune(0)
	runes := []rune(norm.NFKD.String(strings.ReplaceAll(name, "#", " number ")))
	for i, r := range runes {
		isSeparator := !unicode.IsLetter(r) && !unicode.IsDigit(r)
		switch {
		case unicode.Is(unicode.Mn, r): // accents that NFKD separated from a letter
			continue
		case r == '\'' || r == '’': // customer's
			continue
		case length == 0:
		case isSeparator || unicode.IsDigit(r) != unicode.IsDigit(last),
			unicode.IsUpper(r) && !unicode.IsUpper(last),
			unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]): // the N of IDName
			text, length = append(text, ' '), 0
		}
		if !isSeparator && length < maxLine {
			text, length, last = append(text, r), length+1, r
		}
	}
	all := strings.Fields(strings.ToLower(string(text)))
	return all[:min(len(all), maxWords)]
}

// maxWords is a name's maximum number of words that are used.
const maxWords = 12

// compounds are words that people write as one word, as two, or with a hyphen.
type compounds map[[2]string]string

var joined = compounds{
	{"e", "mail"}: "email", {"first", "name"}: "firstname", {"last", "name"}: "lastname", {"full", "name"}: "fullname",
	{"given", "name"}: "firstname", {"family", "name"}: "lastname", {"sur", "name"}: "lastname",
	{"post", "code"}: "postcode", {"zip", "code"}: "postcode", {"postal", "code"}: "postcode",
	{"web", "site"}: "website", {"bar", "code"}: "barcode", {"birth", "day"}: "birthday", {"birth", "date"}: "birthday",
	{"date", "birth"}: "birthday", {"job", "title"}: "jobtitle", {"e", "mails"}: "email",
	{"pin", "code"}: "postcode", {"st", "cd"}: "state", {"co", "nm"}: "company", {"lst", "prc"}: "listprice",
	{"country", "id"}: "country", {"list", "price"}: "listprice", {"qty", "oh"}: "onhand", {"on", "hand"}: "onhand",
}

// Replace joins words. It ignores "of" between two of them.
func (c compounds) Replace(all []string) []string {
	all = slices.DeleteFunc(all, func(w string) bool { return w == "of" || w == "the" })
	var out []string
	for i := 0; i < len(all); i++ {
		if i+1 < len(all) {
			if one, ok := c[[2]string{all[i], all[i+1]}]; ok {
				out = append(out, one)
				i++
				continue
			}
		}
		out = append(out, all[i])
	}
	return out
}

// abbreviations are replaced by full words, and synonyms that mean the same in every name by one word.
var abbreviations = map[string][]string{
	"no": {"number"}, "nr": {"number"}, "num": {"number"}, "qty": {"quantity"}, "desc": {"description"},
	"descr": {"description"},
	"addr":  {"address"}, "tel": {"phone"}, "telephone": {"phone"}, "ph": {"phone"}, "fname": {"firstname"},
	"lname":    {"lastname"},
	"forename": {"firstname"}, "surname": {"lastname"}, "firstname": {"firstname"}, "dob": {"birthday"},
	"birthdate": {"birthday"},
	"zip":       {"postcode"}, "zipcode": {"postcode"}, "plz": {"postcode"}, "emails": {"email"}, "mail": {"email"},
	"emailaddress": {"email", "address"},
	"amt":          {"amount"}, "org": {"organisation"}, "organization": {"organisation"}, "colour": {"color"},
	"cat": {"category"}, "categories": {"category"},
	"tags": {"tag"}, "img": {"image"}, "pic": {"picture"}, "url": {"url"}, "link": {"url"}, "identifier": {"id"},
	"phonenumber": {"phone", "number"}, "homepage": {"website"}, "urls": {"url"}, "links": {"url"},
	"images": {"image"}, "photos": {"photo"}, "addresses": {"address"},
	// of columns in databases
	"nm": {"name"}, "cd": {"code"}, "dt": {"date"}, "frst": {"first"}, "lst": {"last"}, "cust": {"customer"},
	"cty": {"city"}, "cntry": {"country"}, "ctry": {"country"}, "phn": {"phone"}, "mob": {"mobile"}, "ln": {"line"},
	"crt": {"created"}, "crtd": {"created"}, "upd": {"updated"}, "updt": {"updated"}, "prd": {"product"},
	"prod": {"product"}, "itm": {"item"}, "prc": {"price"}, "curr": {"currency"}, "ccy": {"currency"},
	"catg": {"category"}, "brnd": {"brand"}, "mfr": {"manufacturer"}, "mfg": {"manufacturer"}, "wt": {"weight"},
	"wgt": {"weight"}, "actv": {"active"}, "flg": {"flag"}, "avail": {"available"},
	"inv": {"inventory"}, "rmk": {"remarks"}, "rmks": {"remarks"}, "cmt": {"comment"}, "cmnts": {"comments"},
	"acct": {"account"}, "cmpy": {"company"}, "cmpny": {"company"}, "lang": {"language"}, "prov": {"province"},
	"cel": {"cell"}, "ref": {"reference"}, "bday": {"birthday"}, "lbl": {"label"},
	"nummer": {"number"}, "numero": {"number"}, "cntct": {"contact"}, "prsn": {"person"}, "intrnt": {"internet"},
}
