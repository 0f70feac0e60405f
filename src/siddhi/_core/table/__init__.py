"""Tables in memory and in stores."""
