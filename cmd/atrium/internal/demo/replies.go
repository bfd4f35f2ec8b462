package demo

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// maxAsked is the most that a request of Atrium can have: the history, the instructions and JSON around them.
const maxAsked = 4 << 20

// sampleReplies are the answers to messages that contain a word. The last one answers everything else.
var sampleReplies = []struct{ word, text string }{
	{"order", "Your order **D-1042** is on its way.\n\n1. It left the warehouse this morning.\n2. It arrives within " +
		"*two days*.\n\nIs there anything else?"},
	{"address", "You can change your address until the parcel is packed:\n\n- Open **Your account**.\n- Choose " +
		"*Addresses* and change it.\n\nThe next parcel goes there."},
	{"money", "Of course. Send the goods back within **30 days**, and we return the money within 5 days."},
	{"", "I am the sample program of the demo, and know only about an *order*, an *address* and *money*. A program " +
		"or a model of yours answers here when the chat template's `reply` names it."},
}

// answer responds to a visitor's message, as docs/replies.md describes. It does not check the signature, since its
// answers are public.
func answer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Type     string `json:"type"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAsked)).Decode(&body); err != nil {
		http.Error(w, "The body is not JSON.", http.StatusBadRequest)
		return
	}
	if body.Type != "chat.message" || len(body.Messages) == 0 {
		return // a test of the connection
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for word := range strings.SplitAfterSeq(replyTo(body.Messages[len(body.Messages)-1].Content), " ") {
		data, _ := json.Marshal(map[string]string{"text": word}) // text always encodes
		_, _ = w.Write([]byte("data: " + string(data) + "\n\n"))
		_ = out.Flush()
		select { // at a model's speed
		case <-time.After(30 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
}

func replyTo(message string) string {
	for _, s := range sampleReplies {
		if strings.Contains(strings.ToLower(message), s.word) {
			return s.text
		}
	}
	return ""
}
