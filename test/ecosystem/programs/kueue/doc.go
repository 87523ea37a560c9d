// Package kueue is here for its module, which builds the command of Kueue as it was released.
package kueue
