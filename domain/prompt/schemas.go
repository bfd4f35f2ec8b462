package prompt

import (
	"maps"
	"slices"
)

// annotations are keywords of JSON Schema that do not change which values are valid.
var annotations = []string{"title", "description", "default", "examples", "$comment", "$schema", "$id", "deprecated",
	"readOnly", "writeOnly"}

// compared are the keywords whose changes schema understands. Of every other one it reports each change.
var compared = []string{"type", "enum", "const", "properties", "required", "items"}

// schema adds how a value that is valid by the schema to can be one that a reader of from does not know. path is where
// the schema is within member. Readers ignore members that only to has, so these are no break.
func (b *breaks) schema(member, path string, from, to any) {
	previous, _ := from.(map[string]any)
	next, _ := to.(map[string]any)
	if len(previous) == 0 || len(*b) == maxBreaks { // every value is valid
		return
	}
	if types := typesOf(previous); len(types) > 0 && !areAllowed(typesOf(next), types) {
		b.add(member, path, "schema_type_changed", "Values of other types are possible.")
		return
	}
	if values := valuesOf(previous); len(values) > 0 && !areAllowed(valuesOf(next), values) {
		b.add(member, path, "schema_enum_extended", "Values are possible that were not.")
	}
	b.members(member, path, previous, next)
	if items, ok := previous["items"]; ok {
		b.schema(member, join(path, "[]"), items, next["items"])
	}
	for _, keyword := range slices.Sorted(maps.Keys(previous)) {
		if slices.Contains(annotations, keyword) || slices.Contains(compared, keyword) {
			continue
		}
		if value, ok := next[keyword]; !ok || !sameJSON(previous[keyword], value) {
			b.add(member, join(path, keyword), "schema_changed", "This keyword of the schema changed.")
		}
	}
}

// members adds the properties that can be absent and could not be, and those with other values.
func (b *breaks) members(member, path string, previous, next map[string]any) {
	properties, _ := previous["properties"].(map[string]any)
	members, _ := next["properties"].(map[string]any)
	oldForms, newForms := forms(previous["required"]), forms(next["required"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		schema, ok := members[name]
		if !ok {
			b.add(member, join(path, name), "property_removed", "Applications can read this member.")
			continue
		}
		if form, _ := canonical(name); oldForms[form] && !newForms[form] {
			b.add(member, join(path, name), "property_optional", "Was always present, and can be absent.")
		}
		b.schema(member, join(path, name), properties[name], schema)
	}
}

// join returns a schema part's path. It is as short as a name, because schemas can be deep.
func join(path, name string) string {
	if path == "" {
		return shortened(name)
	}
	return shortened(path + "." + name)
}

// typesOf returns the types that a schema allows; empty if it allows all. Integers are numbers.
func typesOf(schema map[string]any) map[string]bool {
	types := forms(schema["type"])
	if types[`"number"`] {
		types[`"integer"`] = true
	}
	return types
}

// valuesOf returns the values that a schema lists; empty if it lists none.
func valuesOf(schema map[string]any) map[string]bool {
	if value, ok := schema["const"]; ok {
		return forms([]any{value})
	}
	return forms(schema["enum"])
}

// forms returns a list's items, or the only value, in their canonical form, or nothing.
func forms(value any) map[string]bool {
	list, ok := value.([]any)
	if !ok && value != nil {
		list = []any{value}
	}
	found := make(map[string]bool, len(list))
	for _, item := range list {
		if form, err := canonical(item); err == nil {
			found[form] = true
		}
	}
	return found
}

// areAllowed reports whether each of items is one of allowed. No items stand for all that exist, so they are not.
func areAllowed(items, set map[string]bool) bool {
	for item := range items {
		if !set[item] {
			return false
		}
	}
	return len(items) > 0
}
