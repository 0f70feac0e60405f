"""From frame to frame: an app over data frames in one call, with several inputs merged by time."""
