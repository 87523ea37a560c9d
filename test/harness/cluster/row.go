package cluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Row is the row that kubectl get prints of an object.
type Row struct {
	// Header names the columns, Wide those that only -o wide has.
	Header, Wide []string
	// Cells are the values by column, as kubectl shows them.
	Cells map[string]string
}

func newRow(table *metav1.Table) Row {
	row := Row{Cells: map[string]string{}}
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			row.Header = append(row.Header, column.Name)
		} else {
			row.Wide = append(row.Wide, column.Name)
		}
		if cell := table.Rows[0].Cells[i]; cell != nil {
			row.Cells[column.Name] = fmt.Sprint(cell)
		}
	}
	return row
}
