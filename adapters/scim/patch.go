package scim

import (
	"slices"
	"strings"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	filter "github.com/scim2/filter-parser/v2"

	"github.com/atrium-hq/atrium/domain/account"
)

// query returns a list request's query. Filters are equality comparisons joined by "and"; name is the attribute that
// names a resource, in lower case.
func query(params scim.ListRequestParams, name string) (account.DirectoryQuery, error) {
	q := account.DirectoryQuery{Skip: params.StartIndex - 1, Limit: params.Count}
	if params.FilterValidator == nil {
		return q, nil
	}
	fields := map[string]*string{"id": &q.ID, "externalid": &q.ExternalID, name: &q.Name}
	if name == "username" {
		fields["emails"], fields["emails.value"] = &q.Email, &q.Email
	}
	equal, ok := equalities(params.FilterValidator.GetFilter())
	if !ok {
		return q, scimerrors.ScimErrorInvalidFilter
	}
	for attribute, want := range equal {
		field, isKnown := fields[attribute]
		if !isKnown || want == "" {
			return q, scimerrors.ScimErrorInvalidFilter
		}
		*field = want
	}
	return q, nil
}

// equalities returns the attributes, in lower case, that an expression compares with texts; false for any other
// expression.
func equalities(e filter.Expression) (map[string]string, bool) {
	switch e := e.(type) {
	case *filter.AttributeExpression:
		want, isText := e.CompareValue.(string)
		path := e.AttributePath
		path.URIPrefix = nil
		return map[string]string{strings.ToLower(path.String()): want},
			isText && strings.EqualFold(string(e.Operator), string(filter.EQ))
	case *filter.LogicalExpression:
		terms, ok := equalities(e.Left)
		right, isConjunction := equalities(e.Right)
		for attribute, want := range right {
			if other, exists := terms[attribute]; exists && other != want {
				return nil, false
			}
			terms[attribute] = want
		}
		return terms, ok && isConjunction && strings.EqualFold(string(e.Operator), string(filter.AND))
	}
	return nil, false
}

// maxOperations is how many operations one PATCH may have: each of them may look at every group member.
const maxOperations = 1000

// apply changes attributes as PATCH asks (RFC 7644, section 3.5.2). The library has validated paths and values.
// Attributes that are not stored may be changed without effect.
func apply(attributes map[string]any, operations []scim.PatchOperation) error {
	if len(operations) > maxOperations {
		return scimerrors.ScimErrorTooMany
	}
	for _, o := range operations {
		if o.Path == nil {
			all, _ := o.Value.(map[string]any)
			for name, value := range all {
				path, err := filter.ParsePath([]byte(name))
				if err != nil {
					return scimerrors.ScimErrorInvalidPath
				}
				if err := applyAt(attributes, o.Op, path, value); err != nil {
					return err
				}
			}
			continue
		}
		if err := applyAt(attributes, o.Op, *o.Path, o.Value); err != nil {
			return err
		}
	}
	return nil
}

// applyAt applies one operation to the attribute at a path. Attributes of extensions are ignored.
func applyAt(attributes map[string]any, op string, path filter.Path, value any) error {
	if path.AttributePath.URI() != "" && !strings.HasPrefix(path.AttributePath.URI(), core) {
		return nil // of an extension
	}
	parent, name := attributes, canonical(path.AttributePath.AttributeName)
	if path.ValueExpression != nil {
		return applyToItems(parent, op, name, path, value)
	}
	sub := path.AttributePath.SubAttributeName()
	if sub == "" {
		sub = path.SubAttributeName()
	}
	if sub != "" {
		inner, ok := parent[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			parent[name] = inner
		}
		parent, name = inner, canonical(sub)
	}
	list, isList := parent[name].([]any)
	values, isMulti := value.([]any)
	switch {
	case op == scim.PatchOperationRemove && isList && isMulti: // the items to remove, as Entra ID names them
		removals := map[string]bool{}
		for _, v := range values {
			removals[valueOf(v)] = true
		}
		parent[name] = slices.DeleteFunc(slices.Clone(list), func(item any) bool { return removals[valueOf(item)] })
	case op == scim.PatchOperationRemove:
		delete(parent, name)
	case op == scim.PatchOperationAdd && isMulti:
		parent[name] = slices.Concat(values, list) // an address that is added is primary if it says so, or comes first
	default:
		if one, isMap := value.(map[string]any); isMap {
			if object, ok := parent[name].(map[string]any); ok {
				for k, v := range one {
					object[k] = v
				}
				return nil
			}
		}
		parent[name] = value
	}
	return nil
}

// core begins the names of the schemas of users and groups.
const core = "urn:ietf:params:scim:schemas:core:2.0:"

// canonical returns a stored attribute's name as the schemas spell it: paths are case-insensitive.
func canonical(name string) string {
	for _, attribute := range []string{"userName", "externalId", "displayName", "name", "givenName", "familyName",
		"formatted", "emails", "active", "members", "value", "primary", "type"} {
		if strings.EqualFold(name, attribute) {
			return attribute
		}
	}
	return name
}

func valueOf(item any) string {
	m, _ := item.(map[string]any)
	return text(m, "value")
}

// applyToItems changes the list items that an expression selects. If it selects none, add and replace create one.
func applyToItems(parent map[string]any, op, name string, path filter.Path, value any) error {
	equal, ok := equalities(path.ValueExpression)
	if !ok {
		return scimerrors.ScimErrorInvalidFilter
	}
	list, _ := parent[name].([]any)
	matches := func(item any) bool {
		m, _ := item.(map[string]any)
		for attribute, want := range equal {
			if text(m, canonical(attribute)) != want {
				return false
			}
		}
		return true
	}
	sub := canonical(path.SubAttributeName())
	if op == scim.PatchOperationRemove && sub == "" {
		parent[name] = slices.DeleteFunc(slices.Clone(list), matches)
		return nil
	}
	found := false
	for _, item := range list {
		m, isMap := item.(map[string]any)
		if !isMap || !matches(item) {
			continue
		}
		found = true
		switch {
		case op == scim.PatchOperationRemove:
			delete(m, sub)
		case sub != "":
			m[sub] = value
		default:
			merge(m, value)
		}
	}
	if found || op == scim.PatchOperationRemove {
		return nil
	}
	item := map[string]any{}
	for attribute, want := range equal {
		item[canonical(attribute)] = want
	}
	if sub != "" {
		item[sub] = value
	} else {
		merge(item, value)
	}
	parent[name] = append(list, item)
	return nil
}

// merge sets an item's members; a value may be wrapped in a list.
func merge(item map[string]any, value any) {
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	members, _ := value.(map[string]any)
	for name, v := range members {
		item[canonical(name)] = v
	}
}
