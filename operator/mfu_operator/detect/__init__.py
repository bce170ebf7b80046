"""From readings to a verdict. Pure: the time enters as an argument, and no line here touches the world."""
