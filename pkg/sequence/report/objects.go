package report

import (
	"fmt"
	"strings"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
)

// maxObjectMessages is how long all messages of objects in a status may be together, in bytes.
const maxObjectMessages = 24 << 10

// CutObjectMessages cuts the messages of objects so that the status of a sequence stays small: each to the same length, which is less
// the more objects are not ready. The writer of status calls it last.
func CutObjectMessages(groups []v1alpha1.GroupStatus) {
	messages := 0
	for i := range groups {
		for j := range groups[i].Objects {
			if groups[i].Objects[j].Message != "" {
				messages++
			}
		}
	}
	if messages == 0 {
		return
	}
	limit := max(len("..."), min(maxObjectMessages/messages, 1024))
	for i := range groups {
		for j := range groups[i].Objects {
			if text := &groups[i].Objects[j].Message; len(*text) > limit {
				*text = strings.ToValidUTF8((*text)[:limit-3], "") + "..."
			}
		}
	}
}

// UnreadableObjects is about the first object of a group that cannot be read; more counts the others, of all groups.
func UnreadableObjects(where Where, object readiness.Object, more int) order.Problem {
	text := fmt.Sprintf("%s: %s", where, object.String())
	switch {
	case more == 1:
		text += "; the same of 1 more object"
	case more > 1:
		text += fmt.Sprintf("; the same of %d more objects", more)
	}
	return order.Problem{Reason: v1alpha1.ReasonObjectNotReadable, Message: text}
}
