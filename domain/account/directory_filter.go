package account

// DirectoryField is what a directory's filter compares.
type DirectoryField string

// The fields.
const (
	DirectoryID         DirectoryField = "id"
	DirectoryName       DirectoryField = "name" // of a group, or a user's userName; without regard to case
	DirectoryExternalID DirectoryField = "external_id"
	DirectoryDisplay    DirectoryField = "display"    // of users; without regard to case
	DirectoryEmail      DirectoryField = "email"      // of users, as EmailKey compares them
	DirectoryEmailType  DirectoryField = "email_type" // of users; without regard to case
	DirectoryActive     DirectoryField = "active"     // of users: "true" or "false"
	DirectoryMember     DirectoryField = "member"     // of groups: a user's id
)

// DirectoryOperator is how a directory's filter compares (RFC 7644, section 3.4.2.2).
type DirectoryOperator string

// The operators. Only Equal and Present apply to DirectoryActive, DirectoryEmailType and DirectoryMember.
const (
	DirectoryEqual      DirectoryOperator = "eq"
	DirectoryStartsWith DirectoryOperator = "sw"
	DirectoryContains   DirectoryOperator = "co"
	DirectoryPresent    DirectoryOperator = "pr"
)

// DirectoryFilter is a condition on a directory's users or groups: a comparison, or, if Terms are set, all of them
// together, or any one.
type DirectoryFilter struct {
	Field    DirectoryField
	Operator DirectoryOperator
	Value    string // not empty, except with DirectoryPresent

	Terms []DirectoryFilter
	IsAny bool // one of Terms is enough
}

// MaxDirectoryTerms is the maximum number of comparisons in a filter.
const MaxDirectoryTerms = 10

// DirectoryQuery selects a directory's users or groups.
type DirectoryQuery struct {
	Filter      *DirectoryFilter // nil: all
	Skip, Limit int              // of the order of creation
}
