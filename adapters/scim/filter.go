package scim

import (
	"regexp"
	"strings"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	filter "github.com/scim2/filter-parser/v2"

	"github.com/atrium-hq/atrium/domain/account"
)

// maxFilter is the maximum length of filters, in bytes.
const maxFilter = 2000

// withInnerValue matches strings, which stay as they are, and attributes of list items behind the condition on these.
var withInnerValue = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|` +
	`(\w+)\[((?:[^\]"]|"(?:[^"\\]|\\.)*")*)\]\.(\w+)(\s+(?i:pr\b|\w\w\s+(?:"(?:[^"\\]|\\.)*"|[\w.-]+)))`)

// standardFilter returns a filter as RFC 7644 writes it: emails[type eq "work"].value eq "…", which Entra ID sends, is
// emails[type eq "work" and value eq "…"].
func standardFilter(text string) (string, error) {
	if len(text) > maxFilter {
		return "", scimerrors.ScimErrorInvalidFilter
	}
	return withInnerValue.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return withInnerValue.ReplaceAllString(found, "$1[$2 and $3$4]")
	}), nil
}

// fields maps the attributes that filters may name, in lower case.
type fields map[string]account.DirectoryField

var (
	userFields = fields{
		"id": account.DirectoryID, "username": account.DirectoryName, "externalid": account.DirectoryExternalID,
		"displayname": account.DirectoryDisplay, "active": account.DirectoryActive,
		"emails": account.DirectoryEmail, "emails.value": account.DirectoryEmail,
		"emails.type": account.DirectoryEmailType, "emails.primary": primaryEmailField,
	}
	groupFields = fields{
		"id": account.DirectoryID, "displayname": account.DirectoryName, "externalid": account.DirectoryExternalID,
		"members": account.DirectoryMember, "members.value": account.DirectoryMember,
	}
)

// primaryEmailField stands for emails.primary: the only address is the primary one.
const primaryEmailField account.DirectoryField = "primary_email"

// query returns what a filter, which may be nil, selects.
func (f fields) query(e filter.Expression) (*account.DirectoryFilter, error) {
	if e == nil {
		return nil, nil
	}
	terms := 0
	out, ok := f.condition(e, "", &terms)
	if !ok || terms > account.MaxDirectoryTerms {
		return nil, scimerrors.ScimErrorInvalidFilter
	}
	return &out, nil
}

// condition returns an expression on attributes whose names follow a prefix, and counts its comparisons.
func (f fields) condition(e filter.Expression, prefix string, terms *int) (out account.DirectoryFilter, ok bool) {
	switch e := e.(type) {
	case *filter.ValuePath:
		return f.condition(e.ValueFilter, strings.ToLower(e.AttributePath.AttributeName)+".", terms)
	case *filter.LogicalExpression:
		first, isFirst := f.condition(e.Left, prefix, terms)
		second, isSecond := f.condition(e.Right, prefix, terms)
		return account.DirectoryFilter{Terms: []account.DirectoryFilter{first, second}, IsAny: e.Operator == filter.OR},
			isFirst && isSecond
	case *filter.AttributeExpression:
		*terms++
		path := e.AttributePath
		path.URIPrefix = nil
		out.Field, ok = f[prefix+strings.ToLower(path.String())]
		out.Operator = account.DirectoryOperator(strings.ToLower(string(e.Operator)))
		out.Value = plain(e.CompareValue, out.Field == account.DirectoryActive || out.Field == primaryEmailField)
		return f.check(out, ok)
	}
	return out, false
}

// check returns a comparison, which isKnown, as the directory makes it; false if it does not make it.
func (f fields) check(c account.DirectoryFilter, isKnown bool) (account.DirectoryFilter, bool) {
	switch {
	case !isKnown:
		return c, false
	case c.Field == primaryEmailField:
		if c.Operator != account.DirectoryEqual || c.Value != "true" {
			return c, false
		}
		return account.DirectoryFilter{Field: account.DirectoryEmail, Operator: account.DirectoryPresent}, true
	case c.Operator == account.DirectoryPresent, c.Operator == account.DirectoryEqual && c.Value != "":
		return c, true
	case c.Operator == account.DirectoryStartsWith, c.Operator == account.DirectoryContains:
		switch c.Field {
		case account.DirectoryActive, account.DirectoryEmailType, account.DirectoryMember:
			return c, false
		}
		return c, c.Value != ""
	}
	return c, false
}

// filterOf returns the filter of a request for a list, or nil.
func filterOf(params scim.ListRequestParams) filter.Expression {
	if params.FilterValidator == nil {
		return nil
	}
	return params.FilterValidator.GetFilter()
}
