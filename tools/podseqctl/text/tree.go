package text

import (
	"fmt"
	"io"
)

// Node is a line of a tree, and the lines below it.
type Node struct {
	Text   string
	Colour Colour
	Below  []Node
}

// Print writes the tree.
func (n Node) Print(out io.Writer, style Style) {
	fmt.Fprintln(out, style.Paint(n.Colour, OneLine(n.Text)))
	n.printBelow(out, style, "")
}

func (n Node) printBelow(out io.Writer, style Style, indent string) {
	for i, below := range n.Below {
		branch, next := "├─ ", "│  "
		if i == len(n.Below)-1 {
			branch, next = "└─ ", "   "
		}
		fmt.Fprintln(out, style.Paint(Faint, indent+branch)+style.Paint(below.Colour, OneLine(below.Text)))
		below.printBelow(out, style, indent+next)
	}
}
