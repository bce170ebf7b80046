"""The edge: each adapter touches one thing of the world and knows no sibling."""
