package column

import "slices"

// A column that is only called “name” has what the table's other columns do not have: beside first names it has last
// names, beside contact persons or VAT numbers it has companies, and else full names. nameFields are the fields among
// which it decides.
type nameFields struct{ first, last, full, company int }

// nameFields returns the indexes of the schema's fields for names; ok only if it has all of them.
func (m *matcher) nameFields() (out nameFields, ok bool) {
	find := func(text string) int {
		return slices.IndexFunc(m.fields, func(f fieldNames) bool {
			return slices.ContainsFunc(f.names[:namesOfItsOwn], func(n name) bool { return n.text == text })
		})
	}
	out = nameFields{find("firstname"), find("lastname"), find("fullname"), find("company")}
	return out, min(out.first, out.last, out.full, out.company) >= 0
}

// settleNames gives the columns that are only called “name” to one field each.
func (m *matcher) settleNames(pairs [][]judgement) {
	fields, ok := m.nameFields()
	if !ok {
		return
	}
	var plain []int
	for c := range m.columns {
		if _, isChosen := m.memory[m.columns[c].remembered]; !isChosen && m.means(c, "name", "customer name") {
			plain = append(plain, c)
		}
	}
	hasColumn := func(field int) bool {
		for c, j := range pairs[field] {
			if j.score >= AutoSelect && !slices.Contains(plain, c) {
				return true
			}
		}
		return false
	}
	hasFirst, hasLast := hasColumn(fields.first), hasColumn(fields.last)
	hasFull := hasColumn(fields.full)
	hasCompany, isRegister := hasColumn(fields.company), false
	for c := range m.columns {
		isRegister = isRegister || m.means(c, "vat id")
	}
	for _, c := range plain {
		field := fields.full
		switch {
		case hasFirst && !hasLast:
			field = fields.last
		case hasLast && !hasFirst:
			field = fields.first
		case !hasCompany && !hasFirst && (hasFull || isRegister):
			field = fields.company
		}
		for _, f := range []int{fields.first, fields.last, fields.full, fields.company} {
			if f == field {
				pairs[f][c] = judgement{score: max(scoreBeside, pairs[f][c].score), why: beside, fits: true}
			} else {
				pairs[f][c] = judgement{}
			}
		}
	}
}

// means reports whether a column's name means one of these, apart from words that say little.
func (m *matcher) means(c int, meanings ...string) bool {
	column := &m.columns[c]
	if slices.Contains(meanings, withoutNumber(column.words)) {
		return true
	}
	return slices.ContainsFunc(column.forms,
		func(f columnName) bool { return slices.Contains(meanings, withoutNumber(f.words)) })
}
