package chat

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/schema"
)

// checkConfig adds a configuration's errors, located at pointer, against the item's schema.
func (i *Item) checkConfig(pointer string, config json.RawMessage, errs *fault.Fields) {
	if i.schema == nil {
		return
	}
	if config == nil {
		config = json.RawMessage("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		errs.Add(pointer, ErrInvalidConfig.Code, "Must be JSON.")
		return
	}
	if broken, ok := errors.AsType[*jsonschema.ValidationError](i.schema.Validate(value)); ok {
		for _, f := range schema.Wrong(pointer, broken) {
			errs.Add(f.Pointer, ErrInvalidConfig.Code, f.Detail)
		}
	}
}
