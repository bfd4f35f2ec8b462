package scim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	filter "github.com/scim2/filter-parser/v2"
)

// apply changes attributes as PATCH asks (RFC 7644, section 3.5.2). Paths and values are as rewrite leaves them, and
// the library has validated them.
func apply(k kind, attributes map[string]any, operations []scim.PatchOperation) error {
	for _, o := range operations {
		if o.Path == nil {
			continue // rewrite found nothing to change
		}
		if err := applyAt(k, attributes, o.Op, *o.Path, o.Value); err != nil {
			return err
		}
	}
	return nil
}

// applyAt applies one operation to the attribute at a path.
func applyAt(k kind, attributes map[string]any, op string, path filter.Path, value any) error {
	a, _ := find(k.stored, path.AttributePath.AttributeName)
	if path.ValueExpression != nil {
		return applyToItems(attributes, op, a, path, value)
	}
	parent, name := attributes, a.name
	if sub := path.AttributePath.SubAttributeName(); sub != "" {
		part, _ := find(a.parts, sub)
		if a.isList { // of every item
			return applyToItems(attributes, op, a, filter.Path{SubAttribute: &part.name}, value)
		}
		inner, ok := parent[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			parent[name] = inner
		}
		parent, name = inner, part.name
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
		object, hasObject := parent[name].(map[string]any)
		if members, isObject := value.(map[string]any); isObject && hasObject {
			maps.Copy(object, members)
			return nil
		}
		parent[name] = value
	}
	return nil
}

func valueOf(item any) string {
	m, _ := item.(map[string]any)
	return text(m, "value")
}

// applyToItems changes the list items that an expression selects. If it selects none, add and replace create one that
// it would select.
func applyToItems(parent map[string]any, op string, a attribute, path filter.Path, value any) error {
	list, _ := parent[a.name].([]any)
	part, hasPart := find(a.parts, path.SubAttributeName())
	if op == scim.PatchOperationRemove && !hasPart {
		rest := make([]any, 0, len(list))
		for _, item := range list {
			isSelected, err := selects(path.ValueExpression, item)
			if err != nil {
				return err
			}
			if !isSelected {
				rest = append(rest, item)
			}
		}
		parent[a.name] = rest
		return nil
	}
	change := func(item map[string]any) {
		members, _ := value.(map[string]any)
		switch {
		case op == scim.PatchOperationRemove:
			delete(item, part.name)
		case hasPart:
			item[part.name] = value
		default:
			maps.Copy(item, members)
		}
	}
	found := false
	for _, one := range list {
		isSelected, err := selects(path.ValueExpression, one)
		if err != nil {
			return err
		}
		if item, isObject := one.(map[string]any); isSelected && isObject {
			found = true
			change(item)
		}
	}
	if found || op == scim.PatchOperationRemove {
		return nil
	}
	item := map[string]any{}
	if !describes(path.ValueExpression, a, item) {
		return scimerrors.ScimErrorNoTarget
	}
	change(item)
	parent[a.name] = append(list, item)
	return nil
}

// selects reports whether an expression selects a list item. A nil expression selects every item.
func selects(e filter.Expression, item any) (bool, error) {
	members, _ := item.(map[string]any)
	switch e := e.(type) {
	case nil:
		return true, nil
	case *filter.NotExpression:
		isSelected, err := selects(e.Expression, item)
		return !isSelected, err
	case *filter.LogicalExpression:
		first, err := selects(e.Left, item)
		if err != nil {
			return false, err
		}
		second, err := selects(e.Right, item)
		if e.Operator == filter.AND {
			return first && second, err
		}
		return first || second, err
	case *filter.AttributeExpression:
		value := member(members, e.AttributePath.AttributeName)
		_, isFlag := value.(bool)
		operand, actual := plain(e.CompareValue, isFlag), plain(value, isFlag)
		switch filter.CompareOperator(strings.ToLower(string(e.Operator))) {
		case filter.PR:
			return actual != "", nil
		case filter.EQ:
			return actual == operand, nil
		case filter.NE:
			return actual != operand, nil
		case filter.CO:
			return strings.Contains(actual, operand), nil
		case filter.SW:
			return strings.HasPrefix(actual, operand), nil
		case filter.EW:
			return strings.HasSuffix(actual, operand), nil
		}
	}
	return false, scimerrors.ScimErrorInvalidFilter
}

// plain returns a string, or a flag as "true" or "false"; "" for another value. Entra ID writes flags as "True".
func plain(value any, isFlag bool) string {
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case string:
		if isFlag {
			return strings.ToLower(value)
		}
		return value
	}
	return ""
}

// describes sets the item's members as an expression selects it; false if it is not a conjunction of equalities.
func describes(e filter.Expression, a attribute, item map[string]any) bool {
	switch e := e.(type) {
	case nil:
		return true
	case *filter.LogicalExpression:
		return e.Operator == filter.AND && describes(e.Left, a, item) && describes(e.Right, a, item)
	case *filter.AttributeExpression:
		if !strings.EqualFold(string(e.Operator), string(filter.EQ)) {
			return false
		}
		if part, ok := find(a.parts, e.AttributePath.AttributeName); ok {
			item[part.name] = part.value(e.CompareValue)
		}
		return true
	}
	return false
}
