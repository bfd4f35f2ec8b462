package chat

import "encoding/json"

// Size returns the approximate size of c in bytes.
func (c Content) Size() int {
	text, err := json.Marshal(c)
	if err != nil { // invalid JSON is refused elsewhere
		return 0
	}
	return len(text)
}
