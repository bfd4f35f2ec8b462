package column

import "slices"

// settleDocuments gives the fields of documents, such as orders and invoices, the columns whose names leave out what a
// row is about: the date and the customer's name. A schema describes documents if it has a field for a number and a
// field for a customer.
func (m *matcher) settleDocuments(pairs [][]judgement) {
	isNumber := func(f fieldNames) bool { return f.Type == Number }
	customer := m.fieldMeaning("customer")
	if customer < 0 || !slices.ContainsFunc(m.fields, isNumber) {
		return
	}
	hasLast := false
	for c := range m.columns {
		hasLast = hasLast || m.means(c, "lastname")
	}
	for c := range m.columns {
		if _, isChosen := m.memory[m.columns[c].remembered]; isChosen {
			continue
		}
		for _, meaning := range []string{"created", "issue date", "paid at", "order date"} {
			if f := m.fieldMeaning(meaning); f >= 0 && m.types[c] != String && m.means(c, "date", "order date") {
				pairs[f][c] = m.atLeast(pairs[f][c], f, c, scoreDate)
			}
		}
		switch {
		case m.means(c, "customer name", "contact name", "fullname", "contact fullname"):
			pairs[customer][c] = m.atLeast(pairs[customer][c], customer, c, scoreCustomer)
		case !hasLast && m.means(c, "name"):
			pairs[customer][c] = m.atLeast(pairs[customer][c], customer, c, scoreName)
		}
	}
}

// Scores for the columns of documents.
const (
	scoreDate     = 0.85
	scoreCustomer = 0.985 // more than a column for the customer's identifier, which is often called “customer”
	scoreName     = 0.6
)

// fieldMeaning returns the index of the field whose own name has a meaning, -1 without one.
func (m *matcher) fieldMeaning(meaning string) int {
	return slices.IndexFunc(m.fields, func(f fieldNames) bool {
		return slices.ContainsFunc(f.meanings, func(n name) bool { return n.text == meaning }) ||
			slices.ContainsFunc(f.names[:namesOfItsOwn], func(n name) bool { return n.text == meaning })
	})
}

// atLeast returns j, or a judgement with a score that fits the values if that is higher.
func (m *matcher) atLeast(j judgement, f, c int, score float64) judgement {
	fit := Fitness(m.fields[f].Type, m.types[c])
	if score *= fit; score <= j.score {
		return j
	}
	return judgement{score: score, why: beside, fits: fit > 0.9}
}
