// Package explain says why pods wait: the whole chain of reasons, from a pod over the sequences that hold it and the groups that
// these wait for, down to the pods that are not ready, and why they are not.
package explain

import (
	"example.com/podsequence/tools/podseqctl/text"
)

// State says in one word how something is.
type State string

// The states.
const (
	Done    State = "Done"    // nothing waits for it
	Waiting State = "Waiting" // it goes on by itself
	Held    State = "Held"    // it goes on once what is below it has happened
	Stuck   State = "Stuck"   // somebody must act
)

// Reason says how something is, and because of what.
type Reason struct {
	// Subject is what this is about, such as: pod shop/db-1.
	Subject string `json:"subject"`
	// State sums it up.
	State State `json:"state"`
	// Message says how it is.
	Message string `json:"message"`
	// Because are the reasons of this.
	Because []Reason `json:"because,omitempty"`
}

// Tree returns the reason as it is printed.
func (r Reason) Tree() text.Node {
	node := text.Node{Text: r.Subject + ": " + r.Message}
	if r.Message == "" {
		node.Text = r.Subject
	}
	switch r.State {
	case Done:
		node.Colour = text.Good
	case Waiting:
		node.Colour = text.Active
	case Stuck:
		node.Colour = text.Bad
	}
	for _, because := range r.Because {
		node.Below = append(node.Below, because.Tree())
	}
	return node
}
