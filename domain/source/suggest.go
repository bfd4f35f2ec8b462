package source

// Suggestion says that a column probably holds a field.
type Suggestion struct {
	Field  string  // its key
	Column string  // a Header's name
	Score  float64 // from MinScore to 1
	Reason string  // one sentence for a person
}

const (
	// MinScore is the least score of a suggestion: what is less likely is not worth a look.
	MinScore = 0.5
	// AutoSelect is the score from which a form may choose a suggestion before anybody looked.
	AutoSelect = 0.8
)

// Memory is what a workspace chose before for a type: the keys of fields by the Normalise of their
// columns' names. The last choice counts. A nil Memory remembers nothing.
type Memory map[string]string
