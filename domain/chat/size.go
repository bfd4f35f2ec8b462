package chat

import "encoding/json"

// Size returns about how many bytes c takes.
func (c Content) Size() int {
	text, err := json.Marshal(c)
	if err != nil { // what is no JSON is refused elsewhere
		return 0
	}
	return len(text)
}
