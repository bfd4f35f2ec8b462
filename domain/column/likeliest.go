package column

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The weights of a header's features; their sum is 1.
const (
	weightFull     = 0.35 // it has a cell for every column
	weightWords    = 0.25 // its cells are names, not numbers, codes, dates or addresses
	weightDistinct = 0.15 // its cells are distinct
	weightContrast = 0.15 // its cells are names where those below are not
	weightFollowed = 0.05 // the next row has about the same width
	weightShort    = 0.05 // its cells are names, not sentences
	weightKnown    = 0.10 // more: part of its cells that are usual names of columns
	perRow         = 0.01 // of two equal rows, the earlier one wins
)

// The evidence of one cell that its row is the header, as logarithms of odds. Chosen so that a wrong row's confidence
// stays below SureHeader in testdata/headers.txt.
const (
	evidencePrior    = -0.6 // tables without a header exist
	evidenceContrast = 1.5  // a name above numbers, dates or addresses
	evidenceKnown    = 1.2  // a usual column name
	evidenceWord     = 0.1  // another word above words
	evidenceLong     = -0.5 // a sentence
	evidenceData     = -1.5 // a value of the same type as those below
	evidenceOdd      = -0.6 // a number, code, date or address above other values
	evidenceRepeated = -1.5 // a word that is also a value below
)

// SureHeader is the confidence from which a header that was found needs no confirmation by a person.
const SureHeader = 0.8

// maxCandidates is the maximum number of rows that are offered if no row is the header with certainty.
const maxCandidates = 3

// likeliestHeader returns which of the first HeaderWindow rows are most like a header, the most likely first, and the
// probability that it is the header. It returns none if all rows are empty.
func likeliestHeader(rows [][]*string) (candidates []int, confidence float64) {
	width := 0
	for _, row := range rows {
		width = max(width, filled(row))
	}
	rows = nameIndex(rows)
	notes := len(rows)
	for i := range rows[:min(len(rows), HeaderWindow)] {
		if isNotes(rows, i) { // the row above it is judged by the values, and this one is no header
			rows, notes = slices.Delete(slices.Clone(rows), i, i+1), i
			break
		}
	}
	scores := make([]float64, min(len(rows), HeaderWindow))
	for i := range scores {
		if filled(rows[i]) > 0 {
			scores[i] = headerScore(rows, i, width) - perRow*float64(i)
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 {
		return nil, 0
	}
	slices.SortStableFunc(candidates, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	row := candidates[0]
	confidence = probability(evidence(rows, row)) * min(1, float64(filled(rows[row]))/float64(width)+0.3)
	for i, score := range scores {
		const near = 0.05
		if i != row && filled(rows[i])*2 >= width && score > scores[row]-near {
			confidence *= 1 - probability(evidence(rows, i))/2 // another row is almost as likely
		}
	}
	candidates = candidates[:min(len(candidates), maxCandidates)]
	for i, c := range candidates {
		if c >= notes {
			candidates[i]++
		}
	}
	return candidates, math.Round(100*confidence) / 100
}

func probability(evidence float64) float64 { return 1 / (1 + math.Exp(-evidence)) }

// nameIndex returns rows in which an empty first cell above 0, 1, 2, … is named. Programs such as pandas write the
// numbers of rows there without a name.
func nameIndex(rows [][]*string) [][]*string {
	for i, row := range rows[:min(len(rows), HeaderWindow)] {
		if len(row) < 2 || row[0] != nil || filled(row) < len(row)-1 || i+2 >= len(rows) {
			continue
		}
		first, counts := -1, 0
		for _, next := range rows[i+1:] {
			if len(next) == 0 || next[0] == nil {
				break
			}
			n, err := strconv.Atoi(*next[0])
			if err != nil || (counts > 0 && n != first+counts) {
				counts = 0
				break
			}
			if counts == 0 {
				first = n
			}
			counts++
		}
		if counts >= 2 && (first == 0 || first == 1) {
			index := "index"
			candidate := slices.Clone(rows)
			candidate[i] = slices.Clone(row)
			candidate[i][0] = &index
			return candidate
		}
	}
	return rows
}

// evidence returns the logarithm of the odds that a row is a header.
func evidence(rows [][]*string, header int) float64 {
	sum, years := evidencePrior, 0
	for column, c := range rows[header] {
		if c == nil {
			continue
		}
		values := columnOf(rows[header+1:], column)
		kind := Infer(values)
		hasValues := slices.ContainsFunc(values, func(v *string) bool { return v != nil })
		switch {
		case isYear(*c): // years are names above numbers, and values
			years++
		case hasValues && sameForm(*c, values):
			sum += evidenceData
		case !isName(*c):
			sum += evidenceOdd
		case isKnown(*c) && majority(values, isKnown): // a list of names and values, side by side
			sum += evidenceData
		case isKnown(*c):
			sum += evidenceKnown
			if hasValues && kind != String && kind != Text {
				sum += evidenceWord
			}
		case slices.ContainsFunc(values, func(v *string) bool { return v != nil && strings.EqualFold(*v, *c) }):
			sum += evidenceRepeated
		case hasValues && ((kind != String && kind != Text) || allCodes(values)):
			sum += evidenceContrast
		case utf8.RuneCountInString(*c) > maxName:
			sum += evidenceLong
		default:
			sum += evidenceWord
		}
	}
	if years == 1 {
		sum += evidenceOdd
	}
	return sum
}

// maxName is the usual maximum number of characters in a column's name.
const maxName = 40

// isName reports whether a cell can be a column's name: words, rather than a number, a code, a date or an address.
func isName(cell string) bool {
	letters, digits := 0, 0
	for _, r := range cell {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	return letters > 0 && letters >= digits && slices.Contains([]Type{String, Text}, Infer([]*string{&cell}))
}

func isYear(cell string) bool {
	n, err := strconv.Atoi(cell)
	return err == nil && len(cell) == 4 && n >= 1900 && n < 2100
}

// sameForm reports whether a cell that is not a name is like most of those below: they are not names either.
func sameForm(cell string, values []*string) bool {
	return !isName(cell) && majority(values, func(v string) bool { return !isName(v) })
}

// majority reports whether more than half of the values are so.
func majority(cells []*string, matches func(string) bool) bool {
	all, yes := 0, 0
	for _, c := range cells {
		if c != nil {
			all++
			if matches(*c) {
				yes++
			}
		}
	}
	return yes*2 > all
}

// isNotes reports whether a row explains the names in the row above it with units, types or sentences.
func isNotes(rows [][]*string, header int) bool {
	if header == 0 || header+1 >= len(rows) || filled(rows[header]) < 2 ||
		filled(rows[header-1]) < filled(rows[header]) {
		return false
	}
	isSentence := func(c string) bool { return len(words(c)) >= 3 && isName(c) }
	short := majority(rows[header-1], func(c string) bool { return isName(c) && !isSentence(c) && !isUnit(c) })
	if !short {
		return false
	}
	if majority(rows[header], isUnit) {
		return !majority(rows[header+1], isUnit)
	}
	return majority(rows[header], isSentence) && !majority(rows[header+1], isSentence)
}

func isUnit(cell string) bool {
	return units[strings.ToLower(strings.Trim(cell, "()[] "))]
}

// units are what rows below a header say about its columns: units of measure and types, in lower case.
var units = setOf("s", "sec", "ms", "min", "h", "hr", "d", "days", "kg", "g", "mg", "t", "lb", "lbs", "oz", "m", "cm",
	"mm", "km", "ft", "in", "mi", "m2", "m²", "m3", "m³", "l", "ml", "°c", "°f", "c", "f", "k", "pa", "hpa", "kpa",
	"bar", "mbar", "v", "a", "w", "kw", "kwh", "wh", "hz", "%", "km/h", "m/s", "mph", "eur", "usd", "gbp", "€", "$",
	"£", "pcs", "stk", "°", "deg", "n", "-", "string", "text", "varchar", "int", "integer", "bigint", "float",
	"double", "number", "numeric", "decimal", "bool", "boolean", "date", "datetime")

// allCodes reports whether no value is a name. Codes such as 02139 have the type String.
func allCodes(values []*string) bool {
	return !slices.ContainsFunc(values, func(v *string) bool { return v != nil && isName(*v) })
}

// headerScore returns how likely a row is the header, from its own cells and the values below it.
func headerScore(rows [][]*string, header, width int) float64 {
	row := rows[header]
	var cells, nameScore, short, contrast, valueScore, knownScore float64
	seen := map[string]bool{}
	for column, c := range row {
		if c == nil {
			continue
		}
		cells++
		seen[oneLine(*c)] = true
		if utf8.RuneCountInString(*c) <= maxName {
			short++
		}
		isWord := isName(*c)
		if isWord {
			nameScore++
		}
		if isKnown(*c) {
			knownScore++
		}
		if values := columnOf(rows[header+1:], column); Infer(values) != String ||
			(filled(values) > 0 && allCodes(values)) {
			valueScore++
			if isWord {
				contrast++
			}
		}
	}
	score := weightFull*cells/float64(width) + weightWords*nameScore/cells + weightDistinct*float64(len(seen))/cells +
		weightShort*short/cells + weightKnown*knownScore/cells
	if valueScore > 0 {
		score += weightContrast * contrast / valueScore
	}
	if header+1 < len(rows) && filled(rows[header+1])*2 >= len(seen) {
		score += weightFollowed
	}
	return score
}

// isKnown reports whether most words in a cell are usual in names of columns, and there are few.
func isKnown(cell string) bool {
	all := words(cell)
	if len(all) == 0 || len(all) > 5 {
		return false
	}
	found := 0
	for _, w := range all {
		if usual[w] {
			found++
		}
	}
	return found*2 > len(all) || (found > 0 && usual[all[len(all)-1]] && len(all) <= 3) ||
		(found > 0 && usual[all[0]] && len(all) <= 2)
}

// usual are words of names of columns, as Normalise writes them, that are rare as values.
var usual = setOf(strings.Fields(`
	account address age amount article author balance barcode birthday brand category city code color comment company
	cost count country county currency date day department description discount due duration email end fax field
	firstname from fullname gender group header height id index invoice item jobtitle key lastname length level line
	list location month name note notes number opening order organisation owner parent payment percent period phone
	position postcode price product quantity rate rating reference region remark role salary section size sku source
	start state status stock street subject sum supplier surname tag target tax temperature term time timestamp title
	to total type unit units url user username value vat vendor version volume website week weight width year zip
	created updated modified active enabled paid mobile latitude longitude
	abteilung adresse anzahl artikel beschreibung bestand betrag datum einheit firma geburtsdatum hausnummer jahr kunde
	kundennummer land menge monat nachname ort postleitzahl preis rechnung stadt strasse straße telefon vorname
	adresse code date entreprise nom numero pays prenom prix quantite rue societe telephone ville libelle montant
	apellido apellidos cantidad ciudad codigo correo direccion empresa fecha nombre pais precio telefono importe
	azienda cap cognome citta indirizzo nome prezzo quantita telefono data importo
	achternaam voornaam bedrijf plaats prijs aantal straat telefoonnummer woonplaats naam
	cidade empresa endereco preco quantidade sobrenome valor
	adres cena data ilosc imie kraj miasto nazwa nazwisko telefon kod
	имя фамилия почта город адрес телефон дата цена количество название
	名前 氏名 住所 電話番号 メール 会社名 日付 価格 数量 商品名 姓 名 郵便番号 都道府県
`)...)
